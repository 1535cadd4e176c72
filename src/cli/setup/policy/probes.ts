import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { shellWord } from '../../../schema/shell-word.ts';
import { type Decoys, HOME_SECRETS, SESSION_SOCKETS, textOf } from './decoys.ts';

/** Rules of a sandbox, each with the promise that a report shows. */
export const SANDBOX_RULES = {
  reads: 'reads only its folder, its own home, programs and its login',
  writes: 'writes only to its folder and its own home',
  permission: 'with permission read it changes nothing in its folder',
  processes: 'neither sees nor touches other processes',
  sockets: "reaches none of your session's sockets",
  privileges: 'gets no more rights from programs, devices or the kernel',
  git: 'changes nothing in the repository but its own branch',
  network: 'reaches only allowed hosts',
} as const;
export type SandboxRule = keyof typeof SANDBOX_RULES;

/** Work tree, branch and run in which the script ran, as the script reports them. */
export interface ProbeFacts {
  tree: string;
  branch: string;
  runId: string;
}

export interface Probe {
  id: string;
  rule: SandboxRule;
  /** Describes the attempt for readers of the report. */
  tries: string;
  /** Shell commands of the probe. `probeScript` defines their variables. */
  script: string;
  /** Decides by printed text or by a change outside the sandbox. An exit code proves nothing. */
  succeeded(output: string, decoys: Decoys, facts: ProbeFacts): boolean;
}

type Seen = Probe['succeeded'];
/** The probe printed the secret text of a decoy, so it must have read that decoy. */
const readSecret =
  (name: string): Seen =>
  (output, { secret }) =>
    output.includes(secret(name));
/** The probe printed a message of the kernel or of a program. */
const printed =
  (pattern: RegExp): Seen =>
  output =>
    pattern.test(output);
/** The file outside the sandbox contains the mark that the probe tried to write. */
const wrote =
  (path: (decoys: Decoys, facts: ProbeFacts) => string): Seen =>
  (_output, decoys, facts) =>
    textOf(path(decoys, facts)).includes(decoys.mark);
const inGit =
  (name: string) =>
  ({ repository }: Decoys): string =>
    join(repository, '.git', name);

const probe = (rule: SandboxRule, id: string, tries: string, script: string, succeeded: Seen): Probe => ({
  id,
  rule,
  tries,
  script,
  succeeded,
});

const reads = (id: string, what: string, path: string, secret = id): Probe =>
  probe('reads', `read-${id}`, `read ${what}`, `cat "${path}"`, readSecret(secret));

const writes = (id: string, what: string, path: string, seen: Seen): Probe =>
  probe('writes', `write-${id}`, `write to ${what}`, `echo "# $MARK" >>"${path}"`, seen);

const inHome =
  (name: string) =>
  ({ home }: Decoys): string =>
    join(home, name);

const READS: Probe[] = [
  ...HOME_SECRETS.map(([id, path, what]) => reads(id, what, `$USER_HOME/${path}`)),
  probe('reads', 'list-home', 'list the files of your home', 'ls -a "$USER_HOME"', (output, { secret }) =>
    output.includes(secret('home-list')),
  ),
  probe(
    'reads',
    'read-squad-token',
    "read Squad's own token",
    'cat "$SQUAD/token"',
    (output, { squadHome }) => {
      const token = textOf(join(squadHome, 'token')).trim();
      return token !== '' && output.includes(token.slice(0, 40));
    },
  ),
  probe(
    'reads',
    'read-squad-database',
    "read Squad's database",
    'head -c 15 "$SQUAD/squad.db"',
    printed(/SQLite format/),
  ),
  reads('squad-files', "other files of Squad's", '$SQUAD/runs/decoy-record'),
  reads('other-run', 'the prompt of another run', '$OTHER_RUN/turn-1/prompt.md'),
  reads('sibling-tree', "another run's work tree", '$SIBLING/work.txt'),
  reads('main-checkout', 'an ignored file of your checkout', '$REPO/.env'),
  reads('tmp', 'a file of yours in /tmp', '$TMP_FILE'),
  probe('reads', 'read-sys', 'read hardware and kernel state in /sys', 'ls /sys/kernel', printed(/\w/)),
];

const WRITES: Probe[] = [
  writes('bashrc', 'the start file of your shell', '$USER_HOME/.bashrc', wrote(inHome('.bashrc'))),
  writes('profile', 'your login profile', '$USER_HOME/.profile', wrote(inHome('.profile'))),
  writes('gitconfig', 'your configuration of git', '$USER_HOME/.gitconfig', wrote(inHome('.gitconfig'))),
  writes(
    'authorized-keys',
    'the keys that may log in as you',
    '$USER_HOME/.ssh/authorized_keys',
    wrote(inHome('.ssh/authorized_keys')),
  ),
  probe(
    'writes',
    'write-autostart',
    'add a program that your desktop starts',
    'mkdir -p "$USER_HOME/.config/autostart"; echo "$MARK" >"$USER_HOME/.config/autostart/x.desktop"',
    wrote(inHome('.config/autostart/x.desktop')),
  ),
  probe(
    'writes',
    'write-program',
    'put a program in front of yours in PATH',
    'mkdir -p "$USER_HOME/.local/bin"; echo "$MARK" >"$USER_HOME/.local/bin/git"',
    wrote(inHome('.local/bin/git')),
  ),
  writes(
    'squad-trust',
    'the files that Squad trusts',
    '$SQUAD/trust.json',
    wrote(d => join(d.squadHome, 'trust.json')),
  ),
  writes(
    'other-run',
    'the record of another run',
    '$OTHER_RUN/turn-1/prompt.md',
    wrote(({ path }) => join(path('otherRun'), 'turn-1', 'prompt.md')),
  ),
  writes(
    'own-record',
    'the record of its own run',
    '$SQUAD/runs/$SQUAD_RUN_ID/turn-1/prompt.md',
    wrote(({ squadHome }, { runId }) => join(squadHome, 'runs', runId, 'turn-1', 'prompt.md')),
  ),
  writes(
    'sibling-tree',
    "another run's work tree",
    '$SIBLING/made',
    wrote(d => join(d.path('sibling'), 'made')),
  ),
  writes(
    'main-checkout',
    'your checkout',
    '$REPO/made',
    wrote(({ repository }) => join(repository, 'made')),
  ),
  writes(
    'tmp',
    'a file of yours in /tmp',
    '$TMP_FILE',
    wrote(({ path }) => path('tmp')),
  ),
  writes(
    'var-tmp',
    '/var/tmp',
    '/var/tmp/$MARK',
    wrote(({ path }) => path('varTmp')),
  ),
  writes(
    'shared-memory',
    '/dev/shm',
    '/dev/shm/$MARK',
    wrote(({ path }) => path('sharedMemory')),
  ),
  writes(
    'etc',
    '/etc',
    '/etc/$MARK',
    wrote(({ path }) => path('etc')),
  ),
  writes(
    'usr',
    '/usr',
    '/usr/local/$MARK',
    wrote(({ path }) => path('usr')),
  ),
];

/** Loops over all visible processes. A fixed pid from outside could be a different process inside the sandbox. */
const EACH_PROCESS = 'for p in /proc/[0-9]*; do';
const FIND_SECRETS = 'tr -c "[:alnum:]" "\\n" | grep ^squadprobe | sort -u';

const PROCESSES: Probe[] = [
  probe(
    'processes',
    'see-process',
    'see another process and its arguments',
    `${EACH_PROCESS} cat $p/cmdline; done | ${FIND_SECRETS}`,
    readSecret('victim-arguments'),
  ),
  probe(
    'processes',
    'read-environment',
    'read the variables of another process',
    `${EACH_PROCESS} cat $p/environ; done | ${FIND_SECRETS}`,
    readSecret('victim-environment'),
  ),
  probe(
    'processes',
    'read-memory',
    'read the memory of another process, as a debugger does',
    [
      'r=$(grep "\\[stack\\]" /proc/$VICTIM/maps | cut -d" " -f1)',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's, not ours.
      's=$((0x${r%-*} / 4096)); e=$((0x${r#*-} / 4096))',
      `dd if=/proc/$VICTIM/mem bs=4096 skip=$s count=$((e - s)) | ${FIND_SECRETS}`,
    ].join('\n'),
    readSecret('victim-environment'),
  ),
  probe(
    'processes',
    'read-process-folder',
    'read files through the folder of another process',
    `${EACH_PROCESS} cat $p/cwd/file; done | ${FIND_SECRETS}`,
    readSecret('victim-folder'),
  ),
  probe(
    'processes',
    'read-descriptors',
    'read files that another process has open',
    `for p in /proc/$VICTIM/fd/*; do [ -f "$p" ] && head -c 200 "$p"; done | ${FIND_SECRETS}`,
    readSecret('victim-descriptor'),
  ),
  probe(
    'processes',
    'signal-process',
    'send a signal to another process',
    'kill -USR2 $VICTIM; sleep 0.3',
    (_output, { path }) => existsSync(path('signalled')),
  ),
  probe(
    'processes',
    'renice-process',
    'change the priority of another process',
    'renice -n 7 -p $VICTIM',
    (_output, { victim }) => statField(victim, 18) === '7',
  ),
  probe(
    'processes',
    'doom-process',
    'let the kernel kill another process first',
    'echo 777 >/proc/$VICTIM/oom_score_adj',
    (_output, { victim }) => textOf(`/proc/${victim}/oom_score_adj`).trim() === '777',
  ),
];

/** Field of /proc/PID/stat, counted from 1. Null if the process is gone. */
function statField(pid: number, field: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[field - 2] ?? null;
  } catch {
    return null;
  }
}

const SOCKETS: Probe[] = [
  ...SESSION_SOCKETS.map(([id, , , what]) =>
    probe('sockets', `reach-${id}`, `reach ${what}`, `talk unix "$SOCKET_${variableOf(id)}"`, readSecret(id)),
  ),
  probe(
    'sockets',
    'reach-hub-socket',
    "reach the hub's socket",
    'talk reach "$HUB_SOCKET"',
    printed(/connected/),
  ),
];

/** Numbers of system calls that no shell command makes. */
const CALLS = process.arch === 'x64' ? { keyctl: 250, socket: 41 } : { keyctl: 219, socket: 198 };

const PRIVILEGES: Probe[] = [
  probe(
    'privileges',
    'kernel-keyring',
    'reach the keyring of your session, which may hold keys',
    `perl -e 'print "keyring:", syscall(${CALLS.keyctl}, 0, -3, 1)'`,
    printed(/keyring:\d/),
  ),
  probe(
    'privileges',
    'setuid-programs',
    'get rights from programs that run as another user (sudo, su)',
    'grep NoNewPrivs /proc/self/status',
    printed(/NoNewPrivs:\s+0/),
  ),
  probe(
    'privileges',
    'capabilities',
    'keep the possibility of capabilities',
    'grep CapBnd /proc/self/status',
    printed(/CapBnd:\s+0*[1-9a-f]/),
  ),
  probe(
    'privileges',
    'user-namespace',
    'become root in a user namespace',
    'unshare --user --map-root-user sh -c "echo mapped:\\$(id -u)"',
    printed(/mapped:0/),
  ),
  probe(
    'privileges',
    'mount',
    'mount a file system',
    'unshare --user --map-root-user --mount sh -c "mount -t tmpfs none /tmp && echo mounted"',
    printed(/mounted/),
  ),
  probe(
    'privileges',
    'open-devices',
    'open devices',
    [
      'for d in /dev/f?se /dev/net/tun /dev/kvm /dev/kmsg /dev/loop-control /dev/uinput /dev/vsock /dev/mem \\',
      '/dev/dri/* /dev/snd/* /dev/input/event* /dev/sd? /dev/vd? /dev/nvme?; do',
      '[ -c "$d" ] || [ -b "$d" ] || continue; (exec 3<"$d") && echo "open:$d"; done | head -n 3',
    ].join('\n'),
    printed(/open:/),
  ),
  probe(
    'privileges',
    'make-device',
    'make a device file',
    'mknod "$TREE/$MARK.device" c 1 3 && echo made; rm -f "$TREE/$MARK.device"',
    printed(/made/),
  ),
  probe(
    'privileges',
    'leave-setuid-program',
    'leave a program that runs as you, whoever starts it',
    'f="$TREE/$MARK.setuid"; : >"$f"; chmod u+s "$f"; stat -c mode:%a "$f"; rm -f "$f"',
    printed(/mode:4/),
  ),
  probe(
    'privileges',
    'kernel-keys',
    "list the kernel's keys",
    'head -n 1 /proc/keys',
    printed(/^[0-9a-f]{8} /m),
  ),
  probe(
    'privileges',
    'kernel-settings',
    'write kernel settings',
    'f=/proc/sys/vm/overcommit_memory; v=$(cat $f); echo "$v" >$f && echo written',
    printed(/written/),
  ),
  probe(
    'privileges',
    'control-groups',
    'make a control group',
    'd="/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)/$MARK"; mkdir "$d" && echo made; rmdir "$d"',
    printed(/made/),
  ),
];

const GIT: Probe[] = [
  probe(
    'git',
    'git-hook',
    'add a hook',
    'echo "# $MARK" >"$REPO/.git/hooks/post-checkout"',
    wrote(inGit('hooks/post-checkout')),
  ),
  probe(
    'git',
    'git-config',
    'change the configuration',
    'echo "# $MARK" >>"$REPO/.git/config"',
    wrote(inGit('config')),
  ),
  probe(
    'git',
    'git-worktree-config',
    'add a configuration to a work tree',
    'for d in "$REPO"/.git/worktrees/*; do echo "# $MARK" >>"$d/config.worktree"; done',
    (_output, { repository, mark }) => {
      const folder = join(repository, '.git', 'worktrees');
      return readdirSync(folder).some(name => textOf(join(folder, name, 'config.worktree')).includes(mark));
    },
  ),
  probe(
    'git',
    'git-attributes',
    'change attributes of all files',
    'mkdir -p "$REPO/.git/info"; echo "# $MARK" >>"$REPO/.git/info/attributes"',
    wrote(inGit('info/attributes')),
  ),
  probe(
    'git',
    'git-move-main',
    'move your branch',
    'git update-ref refs/heads/main $COMMIT; echo $COMMIT >"$REPO/.git/refs/heads/main"',
    (_output, decoys) => refOf(decoys, 'refs/heads/main') !== decoys.main,
  ),
  probe(
    'git',
    'git-delete-branch',
    'delete another branch',
    'git update-ref -d refs/heads/decoy; rm -f "$REPO/.git/refs/heads/decoy"',
    (_output, decoys) => refOf(decoys, 'refs/heads/decoy') === null,
  ),
  probe(
    'git',
    'git-tag',
    'add a tag',
    'git tag "$MARK"',
    (_output, decoys) => refOf(decoys, `refs/tags/${decoys.mark}`) !== null,
  ),
  probe(
    'git',
    'git-push',
    'push a branch into the repository',
    'git -C "$TREE" push -q "$REPO" "HEAD:refs/heads/$MARK"',
    (_output, decoys) => refOf(decoys, `refs/heads/${decoys.mark}`) !== null,
  ),
  probe(
    'git',
    'git-packed-refs',
    'write to packed refs',
    'echo "$(git rev-parse HEAD) refs/heads/z$MARK" >>"$REPO/.git/packed-refs"',
    wrote(inGit('packed-refs')),
  ),
  probe(
    'git',
    'git-head',
    'change the branch of your checkout',
    'echo "ref: refs/heads/$MARK" >"$REPO/.git/HEAD"',
    wrote(inGit('HEAD')),
  ),
  probe(
    'git',
    'git-index',
    'change the index of your checkout',
    'echo "$MARK" >>"$REPO/.git/index"',
    wrote(inGit('index')),
  ),
  probe(
    'git',
    'git-sibling-read',
    "read the state of another run's work tree",
    'cat "$SIBLING_STATE/COMMIT_EDITMSG"',
    readSecret('sibling-state'),
  ),
  probe(
    'git',
    'git-sibling-write',
    "change the state of another run's work tree",
    'echo "$MARK" >"$SIBLING_STATE/HEAD"',
    wrote(({ path }) => join(path('siblingState'), 'HEAD')),
  ),
  probe(
    'git',
    'git-change-object',
    'change an object',
    'for f in "$LOOSE" "$REPO"/.git/shared-objects-*/*/*; do chmod u+w "$f"; echo "$MARK" >>"$f"; done',
    wrote(({ path }) => path('loose')),
  ),
  probe(
    'git',
    'git-delete-packs',
    'delete the packed objects',
    'rm -rf "$REPO"/.git/objects/pack/*.pack "$REPO"/.git/shared-objects-*/pack',
    (_output, { path }) => !existsSync(path('pack')),
  ),
  probe(
    'git',
    'git-alternates',
    'add a store of objects',
    'echo "/$MARK" >>"$REPO/.git/objects/info/alternates"',
    wrote(inGit('objects/info/alternates')),
  ),
  probe(
    'git',
    'git-password',
    'read a password in the address of a remote',
    'git config --get-all remote.decoy.url; cat "$REPO/.git/config"',
    readSecret('remote-password'),
  ),
  // The last two probes. They are last because they break the work tree if they succeed.
  probe(
    'git',
    'git-common-folder',
    'point its work tree at another repository',
    'd=$(git rev-parse --absolute-git-dir); echo "/$MARK" >"$d/commondir"',
    (_output, { repository, mark }) => {
      const folder = join(repository, '.git', 'worktrees');
      return readdirSync(folder).some(name => textOf(join(folder, name, 'commondir')).includes(mark));
    },
  ),
  probe(
    'git',
    'git-pointer',
    "replace its work tree's link to git",
    'echo "gitdir: /$MARK" >"$TREE/.git"',
    wrote((_decoys, { tree }) => join(tree, '.git')),
  ),
];

/** The commit of a ref, loose or packed. Null if there is none. */
function refOf({ repository }: Decoys, name: string): string | null {
  const loose = textOf(join(repository, '.git', name)).trim();
  if (loose !== '') return loose;
  const packed = textOf(join(repository, '.git', 'packed-refs')).split('\n');
  return packed.find(line => line.endsWith(` ${name}`))?.split(' ')[0] ?? null;
}

const NETWORK: Probe[] = [
  probe(
    'network',
    'reach-loopback',
    'reach a port of another program',
    'talk tcp 127.0.0.1 $PORT',
    readSecret('loopback'),
  ),
  probe(
    'network',
    'reach-udp',
    'reach a UDP port of this machine',
    'talk udp 127.0.0.1 $UDP_PORT',
    readSecret('udp'),
  ),
  probe(
    'network',
    'reach-abstract',
    'reach an abstract socket',
    'talk abstract "$MARK"',
    readSecret('abstract'),
  ),
  probe(
    'network',
    'reach-by-request',
    'send an HTTP request to a host that is not allowed, through the proxy',
    'talk get 127.0.0.1 $PORT',
    readSecret('loopback'),
  ),
  probe(
    'network',
    'reach-by-tunnel',
    'reach a host that is not allowed, through the proxy',
    'talk tunnel 127.0.0.1 $PORT',
    readSecret('loopback'),
  ),
  probe(
    'network',
    'reach-other-port',
    'reach another port of an allowed host, through the proxy',
    'talk tunnel localhost $PORT',
    readSecret('loopback'),
  ),
  probe(
    'network',
    'reach-vm-host',
    'make a socket to the host of a virtual machine',
    `perl -e 'print "socket:", syscall(${CALLS.socket}, 40, 1, 0)'`,
    printed(/socket:\d/),
  ),
  probe(
    'network',
    'network-devices',
    'see a network device that leads outside',
    'cut -d: -f1 /proc/net/dev | tail -n +3',
    output => {
      const devices = Object.entries(networkInterfaces());
      return devices.some(
        ([name, all]) => all?.some(({ internal }) => !internal) && output.split(' ').includes(name),
      );
    },
  ),
];

const PERMISSION: Probe[] = [
  probe(
    'permission',
    'read-only-new-file',
    'make a file in its folder',
    'echo "$MARK" >"$TREE/made-read-only"',
    wrote((_decoys, { tree }) => join(tree, 'made-read-only')),
  ),
  probe(
    'permission',
    'read-only-change',
    'change a file of the project',
    'echo "$MARK" >>"$TREE/README.md"',
    wrote((_decoys, { tree }) => join(tree, 'README.md')),
  ),
  probe(
    'permission',
    'read-only-commit',
    'commit',
    'git commit -q --allow-empty -m "$MARK"',
    (_output, decoys, { branch }) => ![decoys.main, null].includes(refOf(decoys, `refs/heads/${branch}`)),
  ),
];

/** All probes, in the order in which they run. */
export const PROBES: readonly Probe[] = [
  ...READS,
  ...WRITES,
  ...PROCESSES,
  ...SOCKETS,
  ...PRIVILEGES,
  ...NETWORK,
  ...GIT,
];
/** Probes for a run with permission `read`. */
export const READ_ONLY_PROBES: readonly Probe[] = PERMISSION;

function variableOf(id: string): string {
  return id.replaceAll('-', '_');
}

/** Connects to an address and prints what answers. Without a proxy in the environment, `tunnel` and `get` connect directly. */
const TALK = `
const net = require("net"), http = require("http");
const [kind, a, b] = process.argv.slice(1);
const end = text => { process.stdout.write(String(text || "")); process.exit(); };
setTimeout(end, 5000);
const read = s => { s.on("error", () => end()).on("close", () => end()).on("data", end); s.write("hello\\n"); };
const proxy = process.env.HTTPS_PROXY && new URL(process.env.HTTPS_PROXY);
const via = path => ({ host: proxy.hostname, port: proxy.port, path, agent: false });
if (kind === "unix") read(net.connect(a));
if (kind === "abstract") read(net.connect("\\0" + a));
if (kind === "reach") net.connect(a, () => end("connected")).on("error", () => end());
if (kind === "tcp" || (kind === "tunnel" && !proxy)) read(net.connect(+b, a));
if (kind === "udp") {
  const socket = require("dgram").createSocket("udp4").on("message", end).on("error", () => end());
  socket.send("hello", +b, a, error => error && end());
}
if (kind === "tunnel" && proxy)
  http.request({ ...via(a + ":" + b), method: "CONNECT" }).on("error", () => end())
    .on("connect", (answer, socket) => answer.statusCode === 200 ? read(socket) : end()).end();
if (kind === "get")
  http.get(proxy ? via("http://" + a + ":" + b + "/") : { host: a, port: b }, answer => answer.on("data", end))
    .on("error", () => end());
`;

/**
 * Script for any POSIX shell that runs in the work tree of a run and prints one line for each probe. It also shows that
 * allowed actions work (\`able\`): a script that can do nothing would prove nothing.
 */
export function probeScript(decoys: Decoys, probes: readonly Probe[] = PROBES): string {
  const { home, squadHome, repository, mark, victim, ports, path } = decoys;
  const variables: Record<string, string> = {
    ...{ USER_HOME: home, SQUAD: squadHome, REPO: repository, MARK: mark, VICTIM: String(victim) },
    ...{ PORT: String(ports.closed), UDP_PORT: String(ports.udp), ALLOWED_PORT: String(ports.allowed) },
    ...{ SIBLING: path('sibling'), SIBLING_STATE: path('siblingState'), OTHER_RUN: path('otherRun') },
    ...{ TMP_FILE: path('tmp'), LOOSE: path('loose'), HUB_SOCKET: path('hubSocket') },
    ...Object.fromEntries(SESSION_SOCKETS.map(([id]) => [`SOCKET_${variableOf(id)}`, decoys.socket(id)])),
  };
  return [
    '#!/bin/sh',
    ...Object.entries(variables).map(([name, value]) => `${name}=${shellWord(value)}`),
    'TREE=$(pwd)',
    `TALK='${TALK}'`,
    'talk() { node -e "$TALK" "$@"; }',
    'try() { tr -c "[:alnum:]./:_=,-" " " | head -c 1000; echo; }',
    'git config user.name >/dev/null || export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x',
    'echo "fact tree $TREE"',
    'echo "fact branch $(git symbolic-ref --short HEAD)"',
    'echo "fact runId $SQUAD_RUN_ID"',
    `for t in ${TOOLS}; do command -v $t >/dev/null && echo "tool $t"; done`,
    'cat README.md >/dev/null && echo "able read"',
    'echo "able host $(talk tunnel localhost $ALLOWED_PORT)"',
    ...(probes === READ_ONLY_PROBES
      ? []
      : [
          'echo x >"$TREE/made" && echo "able write"',
          'git add made && git commit -qm "$MARK" && echo "able commit $(git rev-parse HEAD)"',
          'COMMIT=$(git commit-tree -m "$MARK" "HEAD^{tree}")',
        ]),
    ...probes.map(
      ({ id, script }) => `printf 'probe %s ' ${id}; {\n(\n${script}\n) </dev/null 2>/dev/null; } | try`,
    ),
    'echo "fact end yes"',
    '',
  ].join('\n');
}

/** Programs that the probes need. Without its program a probe fails, which proves nothing. */
const TOOLS = 'node git perl unshare mount mknod renice dd grep sed cut';

/** Result of the probes, judged by the script's output and by changes outside the sandbox. */
export interface ProbeReport {
  /** Ids of the probes that succeeded. */
  succeeded: Set<string>;
  /** Programs that the script found. */
  tools: string[];
  /** Why the script proves nothing. Null if it ran to its end and allowed actions worked. */
  fault: string | null;
}

export function readReport(output: string, decoys: Decoys, probes: readonly Probe[] = PROBES): ProbeReport {
  const lines = output.split('\n');
  const after = (start: string): string | undefined =>
    lines.find(line => line.startsWith(start))?.slice(start.length);
  const facts = {
    ...{ tree: after('fact tree ') ?? '', branch: after('fact branch ') ?? '' },
    runId: after('fact runId ') ?? '',
  };
  const succeeded = probes.filter(({ id, succeeded }) => {
    const printed = after(`probe ${id} `);
    return printed !== undefined && succeeded(printed, decoys, facts);
  });
  return {
    succeeded: new Set(succeeded.map(({ id }) => id)),
    tools: lines.filter(line => line.startsWith('tool ')).map(line => line.slice('tool '.length)),
    fault: faultIn(after, decoys, facts, probes),
  };
}

function faultIn(
  after: (start: string) => string | undefined,
  decoys: Decoys,
  { branch }: ProbeFacts,
  probes: readonly Probe[],
): string | null {
  if (after('fact end ') !== 'yes') return 'the probes did not run to their end';
  if (after('able read') === undefined) return 'its own folder could not be read there';
  if (!after('able host ')?.includes(decoys.secret('allowed')))
    return 'an allowed host could not be reached there';
  if (probes === READ_ONLY_PROBES) return null;
  if (after('able write') === undefined) return 'its own folder could not be written to there';
  const commit = after('able commit ');
  if (!commit || refOf(decoys, `refs/heads/${branch}`) !== commit)
    return 'a commit on its own branch did not arrive in the repository';
  return null;
}
