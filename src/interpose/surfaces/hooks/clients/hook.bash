#!@BASH@ -p
# Asks Interpose about one event of @TITLE@: its JSON comes on standard input, the answer goes out as the host wants it.
# Nothing is started while a server answers. Whatever is no whole answer of ours in time goes on to the next in line,
# and what nobody answers is refused. Made by `interpose install`; `interpose uninstall` removes it.
# -p: functions and files that the environment names are not taken over.
set +o posix
trap refuse EXIT
trap '' PIPE
LC_ALL=C IFS=
unset "${!INTERPOSE_@}"
host=@HOST@ addr=@ADDRESS@ seconds=@SECONDS@ event=${1-} body= more=

refuse() {
  trap - EXIT
  @REFUSE@
}

answer() {
  trap - EXIT
  exit "$1"
}

# The program in our place, with the same event: what we have read of it, and what is left.
hand_over() {
  @ENVIRONMENT@"$@" ${event:+"$event"} < <(printf %s "$body"; if [[ $more ]]; then exec @CAT@; fi)
  case $? in
    0) answer 0 ;;
    2) answer 2 ;;
    *) refuse ;;
  esac
}

# A server that nobody could reach may have a socket. One that gave no answer is not asked again.
fall_back() {
  if ((SECONDS >= seconds)); then refuse; fi
  if [[ $1 == nobody ]]; then hand_over @CLIENT@; fi
  hand_over @PROGRAM@ --in-process --within "$((seconds - SECONDS))"
}

[[ $event =~ ^[A-Za-z]*$ ]] || refuse
if ((BASH_VERSINFO[0] < 5)); then more=yes; fall_back nobody; fi
read -r -N @LONGEST@ -t "$seconds" body
case $? in
  0) more=yes; fall_back nobody ;;
  1) ;;
  *) refuse ;;
esac

[[ -f $addr && -O $addr && ! -L $addr ]] || fall_back nobody
{ IFS=' ' read -r port pid token proof <"$addr"; } 2>/dev/null || fall_back nobody
[[ $port =~ ^[0-9]{1,5}$ && $pid =~ ^[0-9]+$ && ${#token} -ge 32 && ${#proof} -ge 32 ]] || fall_back nobody
kill -0 "$pid" 2>/dev/null || fall_back nobody
{ exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || fall_back nobody

printf 'POST /hook/%s%s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s' \
  "$host" "${event:+?event=$event}" "$port" "$token" "${#body}" "$body" >&3 2>/dev/null || fall_back broken

# One line of the answer. A server that says nothing is taken out of the way of those who come after us.
until=$(((seconds + 1) / 2))
next() {
  local left=$((until - SECONDS))
  if ((left > 0)) && read -r -t "$left" -u 3 line; then return; fi
  if ((SECONDS >= until)); then { : >|"$addr"; } 2>/dev/null; fi
  fall_back broken
}

next
[[ $line == $'HTTP/1.1 200 OK\r' ]] || fall_back broken
length= code= told= shown=
while next; [[ $line != $'\r' ]]; do
  line=${line%$'\r'}
  case $line in
    'Content-Length: '*) length+=${length:+,}${line#*: } ;;
    'X-Interpose-Exit: '*) code+=${code:+,}${line#*: } ;;
    'X-Interpose-Stderr: '*) told=${line#*: } ;;
    'X-Interpose-Proof: '*) shown+=${shown:+,}${line#*: } ;;
  esac
done
[[ $shown == "$proof" && $length =~ ^[0-9]{1,8}$ && $code =~ ^[02]$ ]] || fall_back broken
said=
if ((length)); then read -r -N "$length" -t "$((until > SECONDS ? until - SECONDS : 1))" -u 3 said; fi
[[ ${#said} -eq 10#$length ]] || fall_back broken
printf %s "$said" || refuse
if [[ $told ]]; then printf '%b\n' "${told//%/\\x}" >&2; fi
answer "$code"
