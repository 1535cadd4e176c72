/** An empty network namespace with loopback up: what runs in it reaches itself and nothing else. */
import { spawnSync } from 'node:child_process';

/**
 * The command line that runs a command in a namespace of its own. Whoever must reach each other on loopback
 * (model server, hub, agents) have to be inside the same one, so tests enter it once, with everything.
 */
export function inNamespace(command: string[]): string[] {
  const way = WAYS.find(known => works(known));
  if (!way) throw new Error(`cannot make an empty network namespace: ${NEEDED}`);
  return [...way, ...command];
}

const NEEDED =
  'this needs Linux with `unshare` (util-linux) as root, or user namespaces allowed for this user, or `bwrap` (bubblewrap)';

// SIOCSIFFLAGS with up, loopback and running: for machines without iproute2.
const PERL =
  '$r=pack("Z16sx22","lo",0x49); socket(S,AF_INET,SOCK_DGRAM,0) and ioctl(S,0x8914,$r) or die "lo: $!"';
const LOOPBACK_UP = `{ ip link set lo up 2>/dev/null || perl -MSocket -e '${PERL}'; } && exec "$@"`;

const WAYS = [
  ['unshare', '--net', '--', 'sh', '-c', LOOPBACK_UP, 'sh'],
  ['unshare', '--net', '--map-root-user', '--', 'sh', '-c', LOOPBACK_UP, 'sh'],
  ['bwrap', '--dev-bind', '/', '/', '--unshare-net', '--'],
];

/** Up means reachable: something listens on loopback in there and is connected to. */
const PROBE =
  "const s=require('net').createServer().listen(0,'127.0.0.1',()=>require('net').connect(s.address().port,'127.0.0.1',()=>process.exit(0)))";

function works([program, ...args]: string[]): boolean {
  const probe = [...args, process.execPath, '-e', PROBE];
  return spawnSync(program!, probe, { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

if (import.meta.main) {
  const [program, ...args] = inNamespace(process.argv.slice(2));
  process.exitCode = spawnSync(program!, args, { stdio: 'inherit' }).status ?? 1;
}
