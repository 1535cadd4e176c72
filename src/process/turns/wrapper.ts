/**
 * The shell script around one turn, for dash, bash and the BSD shells. It runs as
 * `sh -c SCRIPT squad-turn-<run> <folder> <limit in seconds> program args…`, leader of its own session.
 *
 * It needs no hub: it records the exit status and ends the turn when its time is up. Each line ends with a command separator,
 * because the script is passed as one line: `ps` lists it, and one process must stay one line.
 */
const LINES = [
  // A trap with a command leaves the default in children, unlike an ignored signal.
  'trap : HUP INT QUIT TERM;',
  // Options can come in from the environment (SHELLOPTS); a stray `errexit` would lose the exit status.
  'set +eux;',
  // Names start with `squad_`, because a plain one could overwrite a variable that the agent is given.
  'squad_dir=$1; squad_left=$2; shift 2;',

  // The file is created or this is an error: of two wrappers on one folder, only one can go on.
  'set -C; { echo $$ >"$squad_dir/pid"; } 2>/dev/null || exit 125; set +C;',

  // Messages of the shell about jobs ("Terminated") are not output of the agent: only the agent gets fd 3 as stderr.
  'exec 3>&2 2>/dev/null;',
  'squad_end=; squad_sleep=;',

  // The watchdog. USR1 from the wrapper tells it that the turn is over. The wrapper's own trap for USR1 is set later: inherited, it would swallow one that comes before the watchdog has its own.
  '(',
  "trap '' HUP INT QUIT TERM USR2; PATH=/bin:/usr/bin:$PATH; squad_nap=1;",
  // The trap ends the sleep itself: one that runs just before `wait` could not cut it short. What a shell still misses costs a second, or as long again as the turn took, because the sleeps double.
  `trap 'squad_end=1; [ ! "$squad_sleep" ] || kill -s KILL "$squad_sleep"' USR1;`,
  'while [ ! "$squad_end" ] && [ "$squad_left" -gt 0 ]; do',
  '[ "$squad_nap" -le "$squad_left" ] || squad_nap=$squad_left;',
  'LC_ALL=C sleep "$squad_nap" & squad_sleep=$!; [ "$squad_end" ] || wait "$squad_sleep";',
  'squad_left=$((squad_left - squad_nap)); squad_nap=$((squad_nap * 2));',
  'done;',
  '[ ! "$squad_sleep" ] || { kill -s KILL "$squad_sleep"; wait "$squad_sleep"; };',
  '[ ! "$squad_end" ] || exit 0;',

  // Time is up. The tree is what shares the wrapper's group, descends from it or was in the tree before, less the wrapper itself and this watchdog; as `pid:group`.
  "squad_self=$(exec sh -c 'echo $PPID'); squad_old=;",
  'squad_tree() { ps -A -o pid= -o ppid= -o pgid= | awk -v top="$$" -v self="$squad_self" -v old="$squad_old"',
  "'{ parent[$1] = $2; group[$1] = $3 }",
  'END {',
  'n = split(old, list, " "); for (i = 1; i <= n; i++) before[list[i]]; mine[self];',
  'do { more = 0; for (p in parent) {',
  'if (!(p in mine) && (parent[p] in mine)) { mine[p]; more = 1 }',
  'if (!(p in tree) && (group[p] == top || parent[p] == top || (parent[p] in tree) || ((p ":" group[p]) in before))) { tree[p]; more = 1 }',
  '} } while (more);',
  'for (p in tree) if (p != top && !(p in mine)) print p ":" group[p]',
  "}'; };",
  // TERM, a grace, then KILL to all but the wrapper, so that it can write the record.
  'squad_old=$(echo $(squad_tree)); kill -s TERM -- "-$$";',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours.
  'for squad_pid in $squad_old; do [ "${squad_pid#*:}" = "$$" ] || kill -s TERM "${squad_pid%:*}"; done;',
  'sleep 3 & squad_sleep=$!; [ "$squad_end" ] || wait "$squad_sleep"; kill -s KILL "$squad_sleep"; wait "$squad_sleep";',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours.
  'for squad_nap in 1 2 3; do for squad_pid in $(squad_tree); do kill -s KILL "${squad_pid%:*}"; done; done;',
  // No `ps` here, or a process that cannot be found: the group goes as a whole, the wrapper and its record with it.
  '[ "$squad_end" ] || { sleep 2 & squad_sleep=$!; [ "$squad_end" ] || wait "$squad_sleep"; kill -s KILL "$squad_sleep"; };',
  '[ "$squad_end" ] || kill -s KILL -- "-$$"',
  ') </dev/null >/dev/null 3>&- &',
  'squad_watchdog=$!; trap : USR1 USR2;',

  // In the foreground, so that stdin and SIGINT are the agent's as given; by `exec`, so that no builtin of the shell can answer for a program.
  '( exec "$@" 2>&3 3>&- );',
  'squad_status=$?;',

  "trap '' HUP INT QUIT TERM USR1 USR2; exec 3>&-;",
  'kill -s USR1 "$squad_watchdog"; wait "$squad_watchdog";',
  // In one small write: a reader takes an empty file for no record. Whatever an agent put in that place is replaced by a rename, because a pipe there would block and a link would lead elsewhere.
  'PATH=/bin:/usr/bin:$PATH; squad_file=$squad_dir/exit;',
  '[ ! -e "$squad_file" ] && [ ! -h "$squad_file" ] || squad_file=$squad_file.new;',
  'echo "$squad_status" >"$squad_file" && { [ "$squad_file" = "$squad_dir/exit" ] || mv -f "$squad_file" "$squad_dir/exit"; };',
  'exit "$squad_status"',
];

export const SCRIPT = LINES.join(' ');

/** Exit code of a wrapper if another one has the folder, or if it cannot write there: the agent was not run. */
export const NOT_RUN = 125;

export const WRAPPER_PREFIX = 'squad-turn-';

/** `$0` of the wrapper: the beginning of its own messages, and its name in `ps`. */
export const wrapperName = (runId: string): string => `${WRAPPER_PREFIX}${runId}`;

export const wrapperArguments = (
  runId: string,
  folder: string,
  limitMs: number,
  argv: readonly string[],
): string[] => [
  '-c',
  SCRIPT,
  wrapperName(runId),
  folder,
  String(Math.max(1, Math.ceil(limitMs / 1000))),
  ...argv,
];
