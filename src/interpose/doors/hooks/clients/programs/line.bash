#!@BASH@ -p
# Shows in @TITLE@ what Interpose asks about in this session, as long as its hook waits for an answer. At all other times
# it says nothing. The host runs it each second, with a JSON object that names the session on standard input. To have it
# beside a status line of your own, let yours run this with the same input. Made by `interpose install`.
set +o posix
LC_ALL=C IFS=
if ((BASH_VERSINFO[0] >= 5)); then read -r -N 65536 -t 2 told; else read -r -d '' -n 65536 -t 2 told; fi
[[ $told =~ \"session_id\":\ *\"([A-Za-z0-9_-]+)\" ]] || exit 0
now= asked=@ASKED@
for note in "$asked/${BASH_REMATCH[1]}".*; do
  [[ -f $note && -O $note && ! -L $note ]] || continue
  { IFS=' ' read -r until text && IFS= read -r where; } 2>/dev/null <"$note" || continue
  if ((BASH_VERSINFO[0] >= 5)); then now=$EPOCHSECONDS; else now=$(@DATE@ +%s); fi
  [[ $until && $until != *[!0-9]* ]] && ((until > now)) || continue
  printf '%s s left: %s\n%s\n' "$((until - now))" "$text" "$where"
done
exit 0
