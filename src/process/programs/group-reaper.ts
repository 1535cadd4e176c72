import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Reads `+ PID` and `- PID`. Its input ends when this process does, however that happens; then it kills the groups that are
 * still in its list.
 */
const SCRIPT = `groups=' '
while read -r what pid; do
  case $what in
    +) groups="$groups$pid " ;;
    -) case $groups in *" $pid "*) groups="\${groups%%" $pid "*} \${groups#*" $pid "}" ;; esac ;;
  esac
done
for pid in $groups; do kill -s KILL -- "-$pid" 2>/dev/null; done`;

const groups = new Set<number>();
let reaper: ChildProcess | null = null;

/**
 * Makes a process group end with this process, even when this process is killed: Node cannot set PR_SET_PDEATHSIG, and a group in a session
 * of its own would live on. Call the returned function when the leader of the group has ended: whatever it left in its group is killed.
 */
export function endWithUs(leader: number): () => void {
  groups.add(leader);
  if (reaper) reaper.stdin?.write(`+ ${leader}\n`);
  else start();
  return () => {
    if (!groups.delete(leader)) return;
    killGroup(leader);
    reaper?.stdin?.write(`- ${leader}\n`);
  };
}

export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nobody is left in it.
  }
}

function start(): void {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'squad-reaper'], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper = child;
  const lost = () => {
    if (reaper === child) reaper = null;
  };
  child.once('error', lost);
  child.once('exit', lost);
  child.stdin.on('error', lost);
  // Neither the reaper nor its input keeps this process alive.
  child.unref();
  (child.stdin as typeof child.stdin & { unref?(): void }).unref?.();
  child.stdin.write([...groups].map(leader => `+ ${leader}\n`).join(''));
}

// In case there is no reaper: it could not be started, or somebody killed it.
process.on('exit', () => {
  for (const leader of groups) killGroup(leader);
});
