/** File in the folder of a fed turn. It contains all lines for the agent, in order. */
const INPUT = 'input';
/**
 * Exit code of a wrapper that did not run the agent, because another wrapper has the folder, the folder is not
 * writable, or the lease has expired.
 */
export const NOT_RUN = 125;

/** Pid of the process that passes the input on to the agent. */
export const FEED = 'feed';
const FEED_PIPE = 'input.pipe';

/**
 * Shell script around one turn, for dash, bash and the BSD shells. It runs as `sh -c SCRIPT squad-turn-<run> <folder>
 * <limit in seconds> program args…` and leads its own session. The script works without the hub: it records the exit
 * status, and ends the turn when its time limit is reached or its lease has expired. The file `lease` beside the output
 * holds the end of the lease, in seconds of the machine's boot clock. Each line ends with a command separator, because
 * the script is passed as a single line: `ps` must list one process as one line.
 */
const lines = (agent: readonly string[]) => [
  // A trap with a command resets to the default in child processes. An ignored signal would stay ignored there.
  'trap : HUP INT QUIT TERM;',
  // Shell options can come from the environment (SHELLOPTS). A stray `errexit` would lose the exit status.
  'set +eux;',
  // Variables start with `squad_`, because a plain name could overwrite a variable of the agent's environment.
  'squad_dir=$1; squad_left=$2; shift 2;',

  // `set -C` makes the write fail if the file exists: of two wrappers on one folder, only one continues.
  'set -C; { echo $$ >"$squad_dir/pid"; } 2>/dev/null || exit 125; set +C;',

  // The shell's messages about jobs ("Terminated") are not output of the agent, so only the agent gets fd 3 as
  // stderr.
  'exec 3>&2 2>/dev/null;',
  'squad_end=; squad_sleep=; squad_leased=; [ ! -f "$squad_dir/lease" ] || squad_leased=1;',

  // A lease file that cannot be read counts as expired, because the hub relies on the end of the lease.
  'squad_lapsed() { squad_until=0; read -r squad_until <"$squad_dir/lease";',
  // The boot clock counts the time in which the machine slept, and nobody can set it.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours.
  'squad_now=; [ ! -r /proc/uptime ] || read -r squad_now squad_rest </proc/uptime; squad_now=${squad_now%%.*};',
  '[ "$squad_now" ] || squad_now=$(date +%s);',
  '! [ "$squad_now" -lt "$squad_until" ]; };',
  // A hub that was suspended may start a turn long after its lease.
  'if [ "$squad_leased" ] && ( PATH=/bin:/usr/bin:$PATH; squad_lapsed ); then',
  `: >"$squad_dir/lapsed"; echo ${NOT_RUN} >"$squad_dir/exit"; exit ${NOT_RUN}; fi;`,

  // The watchdog. USR1 from the wrapper tells it that the turn is over. The wrapper sets its own USR1 trap later: if
  // the watchdog inherited that trap, it would swallow a signal that arrives before the watchdog sets its own.
  '(',
  "trap '' HUP INT QUIT TERM USR2; PATH=/bin:/usr/bin:$PATH; squad_nap=1;",
  // The trap kills the sleep itself, because a trap that runs just before `wait` could not interrupt it. If a shell
  // misses the signal, the delay is one second, or as long as the turn took, because the sleeps double.
  `trap 'squad_end=1; [ ! "$squad_sleep" ] || kill -s KILL "$squad_sleep"' USR1;`,
  'while [ ! "$squad_end" ] && [ "$squad_left" -gt 0 ]; do',
  'if [ "$squad_leased" ]; then squad_nap=2; ! squad_lapsed || break; fi;',
  '[ "$squad_nap" -le "$squad_left" ] || squad_nap=$squad_left;',
  'LC_ALL=C sleep "$squad_nap" & squad_sleep=$!; [ "$squad_end" ] || wait "$squad_sleep";',
  'squad_left=$((squad_left - squad_nap)); squad_nap=$((squad_nap * 2));',
  'done;',
  '[ ! "$squad_sleep" ] || { kill -s KILL "$squad_sleep"; wait "$squad_sleep"; };',
  '[ ! "$squad_end" ] || exit 0;',
  '[ "$squad_left" -le 0 ] || [ -e "$squad_dir/lapsed" ] || : >"$squad_dir/lapsed";',

  // Time is up. The tree consists of processes that share the wrapper's group, descend from the wrapper or were in
  // the tree before, except the wrapper and this watchdog. Format: `pid:group`.
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
  // TERM, a grace time, then KILL to all processes except the wrapper, which has to write the exit record.
  // The first process of a sandbox is spared: it would end at once, and the kernel kills everything inside with it.
  `squad_old=$(echo $(squad_tree)); squad_box=$(ps -A -o pid= -o ppid= -o comm= | awk -v top="$$" '$2 == top && $3 == "bwrap" { print $1 }');`,
  '[ "$squad_box" ] || kill -s TERM -- "-$$";',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours.
  'for squad_pid in $squad_old; do if [ "$squad_box" ]; then [ "${squad_pid%:*}" = "$squad_box" ]; else [ "${squad_pid#*:}" = "$$" ]; fi || kill -s TERM "${squad_pid%:*}"; done;',
  'sleep 3 & squad_sleep=$!; [ "$squad_end" ] || wait "$squad_sleep"; kill -s KILL "$squad_sleep"; wait "$squad_sleep";',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours.
  'for squad_nap in 1 2 3; do for squad_pid in $(squad_tree); do kill -s KILL "${squad_pid%:*}"; done; done;',
  // If `ps` is missing or a process cannot be found, the whole group is killed, with the wrapper and its record.
  '[ "$squad_end" ] || { sleep 2 & squad_sleep=$!; [ "$squad_end" ] || wait "$squad_sleep"; kill -s KILL "$squad_sleep"; };',
  '[ "$squad_end" ] || kill -s KILL -- "-$$"',
  ') </dev/null >/dev/null 3>&- &',
  'squad_watchdog=$!; trap : USR1 USR2;',

  ...agent,

  "trap '' HUP INT QUIT TERM USR1 USR2; exec 3>&-;",
  'kill -s USR1 "$squad_watchdog"; wait "$squad_watchdog";',
  // The exit record is written in one small write, because readers treat an empty file as no record. A rename replaces
  // anything that an agent put in its place: a pipe would block, and a link would lead elsewhere.
  'PATH=/bin:/usr/bin:$PATH; squad_file=$squad_dir/exit;',
  '[ ! -e "$squad_file" ] && [ ! -h "$squad_file" ] || squad_file=$squad_file.new;',
  'echo "$squad_status" >"$squad_file" && { [ "$squad_file" = "$squad_dir/exit" ] || mv -f "$squad_file" "$squad_dir/exit"; };',
  'exit "$squad_status"',
];

// The agent runs in the foreground, so that it gets stdin and SIGINT unchanged. `exec` keeps a shell builtin from
// replacing the program.
const AGENT = ['( exec "$@" 2>&3 3>&- );', 'squad_status=$?;'];

/**
 * The agent of a fed turn reads a file that grows while the agent runs. A pipe from the hub would break when the hub
 * ends, so `tail` copies the file into a pipe. `tail` ends with the agent. If `tail` is killed first, the agent reads
 * the end of its input.
 */
const FED_AGENT = [
  'squad_status=125;',
  `if ( PATH=/bin:/usr/bin:$PATH; exec mkfifo -m 600 "$squad_dir/${FEED_PIPE}" 2>&3 3>&- ); then`,
  // The pipe's name is deleted before the agent reads its first line, so that no command of the agent can write to the
  // agent's input.
  `( exec >"$squad_dir/${FEED_PIPE}" </dev/null 3>&-; PATH=/bin:/usr/bin:$PATH; rm -f "$squad_dir/${FEED_PIPE}"; exec tail -c +1 -f "$squad_dir/${INPUT}" ) &`,
  `squad_feed=$!; echo "$squad_feed" >"$squad_dir/${FEED}";`,
  `( exec "$@" <"$squad_dir/${FEED_PIPE}" 2>&3 3>&- );`,
  'squad_status=$?;',
  'kill -s KILL "$squad_feed"; wait "$squad_feed";',
  'fi;',
];

export const SCRIPT = lines(AGENT).join(' ');
export const FED_SCRIPT = lines(FED_AGENT).join(' ');

export const WRAPPER_PREFIX = 'squad-turn-';

/** `$0` of the wrapper: the start of its own messages, and its name in `ps`. */
export const wrapperName = (runId: string): string => `${WRAPPER_PREFIX}${runId}`;

export const wrapperArguments = (
  runId: string,
  folder: string,
  limitMs: number,
  argv: readonly string[],
  isFed = false,
): string[] => [
  '-c',
  isFed ? FED_SCRIPT : SCRIPT,
  wrapperName(runId),
  folder,
  String(Math.max(1, Math.ceil(limitMs / 1000))),
  ...argv,
];
