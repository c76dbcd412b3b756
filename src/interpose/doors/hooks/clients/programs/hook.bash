#!@BASH@ -p
# Asks Interpose about one event of @TITLE@: its JSON comes on standard input, the answer goes out as the host wants it.
# Nothing is started while a server answers. Whatever is no whole answer of ours in time goes on to the next in line,
# and what nobody answers is refused. Made by `interpose install`; `interpose uninstall` removes it.
# -p: functions and files that the environment names are not taken over.
# It runs in bash 3.2, which macOS has, and in every later one: what only a later one knows is asked for by its version.
set +o posix
trap refuse EXIT
trap '' PIPE
LC_ALL=C IFS=
unset "${!INTERPOSE_@}"
cr=$'\r' crlf=$'\r\n' hex='\x' unread=$'\1'
host=@HOST@ addr=@ADDRESS@ socket=@SOCKET@ stalled=@STALLED@
seconds=@SECONDS@ wait=@WAIT@ patience=$(((@SECONDS@ + 1) / 2)) event=${1-} body= more=

refuse() {
  trap - EXIT
  @REFUSE@
}

# The time in seconds. Only an older bash starts a program for it, and only where a server gave no answer.
now() {
  if ((BASH_VERSINFO[0] >= 5)); then REPLY=$EPOCHSECONDS; else REPLY=$(@DATE@ +%s); fi
}

# Up to so many bytes of a descriptor, in so many seconds. 0: there may be more, 1: these were the last, else: too late.
# A later bash reads them at once. An older one reads letter by letter, and says 1 when it is too late: then it has
# assigned nothing.
take() {
  local ended
  if ((BASH_VERSINFO[0] >= 5)); then read -r -N "$1" -u "$2" -t "$3" REPLY; return; fi
  REPLY=$unread
  read -r -d '' -n "$1" -u "$2" -t "$3" REPLY
  ended=$?
  if [[ $REPLY == "$unread" ]]; then return 142; fi
  return "$ended"
}

answer() {
  trap - EXIT
  exit "$1"
}

# The package was removed, and this hook was not.
say_gone() {
  trap - EXIT
  @GONE@
}

# The program in our place, with the same event: what we have read of it, and what is left.
hand_over() {
  @ENVIRONMENT@"$@" ${event:+"$event"} < <(printf %s "$body" 2>/dev/null; if [[ $more ]]; then exec @CAT@; fi)
  case $? in
    0) answer 0 ;;
    2) answer 2 ;;
    *) refuse ;;
  esac
}

# A server that nobody could reach may have a socket. One that gave no answer is not asked again.
fall_back() {
  if ((SECONDS >= seconds)); then refuse; fi
  [[ @THERE@ ]] || say_gone
  if [[ $1 == nobody ]]; then hand_over @CLIENT@; fi
  hand_over @PROGRAM@ --in-process --within "$((seconds - SECONDS))"
}

[[ $event != *[!A-Za-z]* ]] || refuse
take @LONGEST@ 0 "$seconds"
ended=$? body=$REPLY
case $ended in
  0) more=yes; fall_back nobody ;;
  1) ;;
  *) refuse ;;
esac

# A server that gave others no answer is not asked for a while, and then has a second. What was written before its
# socket was made is about another one.
if [[ -f $stalled && -O $stalled && ! -L $stalled && -S $socket && $stalled -nt $socket ]]; then
  { IFS=' ' read -r until <"$stalled"; } 2>/dev/null
  now
  if [[ $until && $until != *[!0-9]* && ${#until} -le 12 ]] && ((until <= REPLY + @PAUSE@)); then
    if ((until > REPLY)); then fall_back broken; fi
    patience=1
  fi
fi

[[ -f $addr && -O $addr && ! -L $addr ]] || fall_back nobody
{ IFS=' ' read -r port pid token proof <"$addr"; } 2>/dev/null || fall_back nobody
[[ $port$pid != *[!0-9]* && ${#port} -ge 1 && ${#pid} -ge 1 && ${#token} -ge 32 && ${#proof} -ge 32 ]] || fall_back nobody
kill -0 "$pid" 2>/dev/null || fall_back nobody
{ exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || fall_back nobody

# The head in one piece: bash writes what a format says line by line, and each piece would wake the server anew.
printf %s "POST /hook/$host${event:+?event=$event} HTTP/1.1${crlf}Host: 127.0.0.1:$port${crlf}Authorization: Bearer $token\
${crlf}X-Interpose-Pid: $$${crlf}X-Interpose-Wait: $wait${crlf}Content-Length: ${#body}${crlf}Connection: close$crlf$crlf\
$body" >&3 2>/dev/null || fall_back broken

# What a server says that does not hang but waits for a person: for how long, and where to answer meanwhile.
wait_for_person() {
  local line ours= given= shown= lines=0
  while IFS= read -r -t "$patience" -u 3 line && [[ $line != $'\r' ]]; do
    # Each line has its own time: whoever sends lines without end must not hold us until the host gives up on us.
    ((++lines <= 20 && SECONDS < seconds)) || fall_back broken
    case $line in
      "X-Interpose-Proof: $proof"$'\r') ours=yes ;;
      "X-Interpose-Wait: "*) given=${line#*: } given=${given%"$cr"} ;;
      "X-Interpose-Stderr: "*) shown=${line#*: } shown=${shown%"$cr"} ;;
    esac
  done
  [[ $ours && $given && $given != *[!0-9]* && ${#given} -le 5 ]] && ((10#$given <= wait)) || fall_back broken
  if [[ $shown ]]; then printf '%b\n' "${shown//%/$hex}" >&2; fi
  ((patience += 10#$given, seconds += 10#$given))
}

# All of it at once, up to its end: line by line bash reads letter by letter.
ended=0 status= said=
if ((wait)); then
  take 13 3 "$patience"
  ended=$? status=$REPLY
  if [[ $ended == 0 && $status == 'HTTP/1.1 102 ' ]]; then status=; wait_for_person; fi
fi
if ((ended <= 1)); then
  take @LARGEST@ 3 "$patience"
  ended=$? said=$status$REPLY
fi
case $ended in
  0) fall_back broken ;;
  1) ;;
  *) now
     (umask 077; printf '%d\n' "$((REPLY + @PAUSE@))" >|"$stalled") 2>/dev/null
     fall_back broken ;; # it hangs: those who come after us need not wait, too
esac

# `%%` looks from the front, a letter at a time; `#*` would look at every beginning anew.
head=${said%%"$crlf$crlf"*}
[[ ${#head} -lt ${#said} && ${head:0:17} == $'HTTP/1.1 200 OK\r\n' ]] || fall_back broken
text=${said:${#head}+4}

# A field of the head. Empty if it is not there, or there twice.
field() {
  local before=${head%%"$crlf$1: "*} rest
  rest=${head:${#before}+${#1}+4}
  if [[ $rest == *$'\r\n'"$1: "* ]]; then rest=; fi
  REPLY=${rest%%"$cr"*}
}

field X-Interpose-Proof
[[ $REPLY == "$proof" ]] || fall_back broken
field Content-Length
[[ $REPLY == "${#text}" ]] || fall_back broken
field X-Interpose-Exit
code=$REPLY
[[ $code == [02] ]] || fall_back broken
printf %s "$text" || refuse
field X-Interpose-Stderr
if [[ $REPLY ]]; then printf '%b\n' "${REPLY//%/$hex}" >&2; fi
answer "$code"
