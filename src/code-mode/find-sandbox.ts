import { join } from 'node:path';
import { knowsDescendants } from '../process/descendants.ts';
import { findExecutable } from '../process/find-executable.ts';
import { runProgram } from '../process/run-program.ts';
import { toFrame } from './frames.ts';
import type { HostMessage } from './messages.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';
import { sharedLibraries } from './shared-libraries.ts';

export interface SandboxMissing {
  missing: string;
  suggestions: string[];
}

const INSTALL =
  'Install bubblewrap: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora), pacman -S bubblewrap (Arch).';
const WITHOUT = 'Or turn code mode off: then the model calls its tools one by one.';
/** A start on a machine that is busy with other things. */
const PROOF_MS = 30_000;
const PROOF_MEMORY_MB = 256;
/** Closes a way that nothing inside can reach anyway; older ones do not know it. */
const NEWER = '--disable-userns';

const proofs = new Map<string, Promise<Sandbox | SandboxMissing>>();

/**
 * What this machine has to run programs in, seen working once for each process. `guest`: the script that ships beside the
 * running program.
 */
export function findSandbox(
  env: Readonly<Record<string, string | undefined>>,
  guest: string = join(__dirname, 'code-guest.cjs'),
): Promise<Sandbox | SandboxMissing> {
  if (process.platform !== 'linux')
    return told(
      'Code mode needs a sandbox, and Squad knows none for this system: its own is bubblewrap, which only Linux has.',
      [WITHOUT],
    );
  const found = findExecutable('bwrap', { path: env.PATH ?? '', cwd: '/' });
  if (found.status !== 'found')
    return told('Code mode needs a sandbox: bubblewrap (bwrap) was not found in PATH.', [INSTALL, WITHOUT]);
  const key = `${found.path}\0${guest}`;
  const proof = proofs.get(key) ?? prove(found.path, guest);
  proofs.set(key, proof);
  return proof;
}

async function prove(bubblewrap: string, guest: string): Promise<Sandbox | SandboxMissing> {
  const node = process.execPath;
  const libraries = await sharedLibraries(node);
  if (!libraries)
    return told(`Code mode needs a sandbox: what ${node} is loaded with could not be told.`, [
      'Use a Node.js that is built for glibc.',
      WITHOUT,
    ]);
  if (!knowsDescendants())
    return told('Code mode needs a sandbox: this kernel keeps no lists of children to watch memory by.', [
      WITHOUT,
    ]);
  const parts = { bubblewrap, node, libraries, guest };
  let sandbox = createSandbox({ ...parts, extra: [NEWER] });
  let failure = await tryOut(sandbox);
  if (failure?.includes(NEWER)) {
    sandbox = createSandbox({ ...parts, extra: [] });
    failure = await tryOut(sandbox);
  }
  if (failure === null) return sandbox;
  return told(
    `Code mode needs a sandbox: ${bubblewrap} is there, but nothing could be started in it: ${failure}`,
    [
      'In a container or where user namespaces are turned off (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns): allow them for bwrap.',
      WITHOUT,
    ],
  );
}

/** An empty program, from start to end. Returns why it did not work, or null. */
async function tryOut(sandbox: Sandbox): Promise<string | null> {
  const empty: HostMessage = { type: 'run', program: '', tools: [], mostChars: 1 };
  const { stdout, stderr, cut } = await runProgram({
    argv: sandbox.command(PROOF_MEMORY_MB),
    cwd: '/',
    env: {},
    limitMs: PROOF_MS,
    maxBytes: 64 * 1024,
    input: toFrame(empty),
  });
  if (stdout.includes('"type":"done"')) return null;
  if (cut === 'time') return `it was not done after ${PROOF_MS / 1000} s`;
  return stderr.trim().split('\n')[0] || 'it ended without a word';
}

const told = async (missing: string, suggestions: string[]): Promise<SandboxMissing> => ({
  missing,
  suggestions,
});
