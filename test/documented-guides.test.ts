import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { mock } from './engines/model-server/script.ts';
import { type ModelServer, startModelServer } from './engines/model-server/server.ts';
import { askHub } from './support/ask-hub.ts';
import { TestBox } from './support/box.ts';
import { GitSquad, script } from './support/git-squad.ts';
import { ASK } from './support/review-squad.ts';
import { documentsBelow, runInShell, type ShellCommand, shellBlocks } from './support/shell-blocks.ts';
import { callTool, ended, type Ran, until } from './support/squad.ts';

/** Commands that cannot be carried out here, with the error that each must give. */
const REFUSED: { command: RegExp; code: string; because: string }[] = [
  {
    command: /^run --engine (claude|codex|copilot|cursor|gemini|opencode|qwen) |^retry .* --engine codex/,
    code: 'ENGINE_NOT_FOUND',
    because: 'it needs an agent CLI and a login; the tests in test/engines have them',
  },
  {
    command: /^attach .*--take-over/,
    code: 'CHAT_UNKNOWN',
    because: 'only agent CLIs have chats that a person can open',
  },
  {
    command: /^adopt .*3f0e6a52/,
    code: 'CHAT_UNKNOWN',
    because: 'nobody has begun a chat there',
  },
  {
    command: /^(interrupt|tell .*--interrupt)/,
    code: 'NOT_ALLOWED',
    because: 'the scripted agent reads only its prompt',
  },
  {
    command:
      /^answer \S+$|^integrate( SQUAD .*)?$|^install (CLIENT|claude-code|zed|jetbrains|neovim)( --project)?$|^mcp import/,
    code: 'ANSWER_NEEDED',
    because: 'it asks at a terminal',
  },
];

const QUESTION = { title: 'coder', question: 'Which one?' };

/** Until Ctrl-C. */
const LASTING = /^(up|watch(?!.*RUN)|events (?!--run).*-f)\b/;

const squad = new GitSquad({
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: '---\ntype: review\n---\nYou review.',
  'qa-engineer': 'You test.',
  architect: 'You design.',
  planner: 'You plan.',
});
const box = new TestBox(squad);
let model: ModelServer;
/** Things that a command only reads. */
let read: { RUN: string; SQUAD: string; conversation: string; decision: string };

beforeAll(async () => {
  const root = resolve(import.meta.dirname, '..');
  const server = join(root, 'test', 'servers', 'echo.ts');
  writeFileSync(join(squad.env.HOME!, '.gitconfig'), '[user]\nname = Ada\nemail = ada@example.com\n');
  model = await startModelServer();
  squad.env.ANTHROPIC_BASE_URL = model.url;
  // The guide's server from our own packages, without a network.
  const files = join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
  const npx = squad.script('../bin/npx', `exec '${process.execPath}' '${files}' "$3"`);
  squad.env.PATH = `${dirname(npx)}:${squad.env.PATH}`;
  // Any command can be a template.
  for (const name of ['claude', 'cursor-agent'])
    squad.script(`../agents/${name}`, 'case "$1" in create-chat) echo chat-1 ;; *) echo Done ;; esac');
  const config = { servers: { echo: { command: process.execPath, args: [server], tools: ['*'] } } };
  squad.write('.squad/mcp-config.json', JSON.stringify({ ...config, agentServers: { coder: ['echo'] } }));
  squad.write('.squad/backlog.md', '## Next\n\n- [ ] One\n- [ ] Two\n- [ ] Three\n');
  squad.write('.squad/decisions.md', '### 2026-02-01: Sessions live in Redis\n**What:** A redis cache.\n');
  squad.write('package.json', '{ "scripts": { "test": "true" } }');
  squad.write('.mcp.json', JSON.stringify({ mcpServers: { more: { command: 'true' } } }));
  for (const path of ['PLAN.md', 'docs/design.md', 'task.md', 'changed.md']) squad.write(path, 'x\n');
  squad.git('add', '-A');
  squad.git('commit', '-qm', 'Team');
  squad.git('branch', 'next');
  // For `git diff | squad …`.
  squad.write('changed.md', 'y\n');
  await squad.unlimited();
  await squad.run(['trust', '-y']);
  await squad.run(['init', '--subagent', 'review_changes', '--schema']);
  const { runIds, squadId } = await finished();
  const { decisions } = await askHub<{ decisions: [{ id: string }] }>(squad, 'list_decisions');
  read = { RUN: runIds[0], SQUAD: squadId, conversation: await reviewedChanges(), decision: decisions[0].id };
});
afterEach(async () => {
  await squad.run(['config', 'unset', 'inbox.timeout_minutes']);
  // Agents that wait for an answer or for their reviewer.
  await squad.run(['cancel', '--all']);
});
afterAll(async () => {
  await box.remove(squad);
  await model.close();
});

const code = Array.from({ length: 70 }, (_, at) => `| line ${at}`);
const WORK = script(
  ...['src/a.ts', 'src/upload.ts', 'README.md'].flatMap(path => [`write ${path}`, ...code]),
  'report Done.',
);
const FAILS_ONCE = script('run mkdir ../failed-once || exit 0; exit 1');
// A file that no earlier run has merged.
const REVIEW = script('run mktemp reviewed.XXXXXX', ASK);

const start = (task: string, roleId = 'coder') =>
  askHub<{ squadId: string; runIds: [string] }>(squad, 'start_squad', { members: [{ roleId, task }] });

async function finished(task = WORK, roleId?: string) {
  const started = await start(task, roleId);
  await squad.run(['wait', ...started.runIds]);
  return started;
}

async function reviewed(): Promise<string> {
  const [run] = (await start(REVIEW)).runIds;
  await until('it is reviewed', async () => (await squad.statusOf(run)) === 'waiting_review');
  return run;
}

async function asked(question: string): Promise<string> {
  const [run] = (await start(script(question))).runIds;
  const items = () => askHub<{ items: { id: string; runId: string }[] }>(squad, 'list_inbox');
  return until('it asks', async () => (await items()).items.find(({ runId }) => runId === run)?.id);
}

/** A run of a subagent. */
async function reviewedChanges(): Promise<string> {
  const client = await squad.client({
    args: ['serve', '--config', join(squad.workspace, 'review_changes.subagent.yaml')],
    env: { ANTHROPIC_API_KEY: 'fake' },
  });
  const answer = { answer: 'Nothing is wrong.', evidence: [] };
  const prompt = mock([{ call: 'final_answer', arguments: answer }]);
  expect(await callTool(client, 'review_changes', { prompt })).toEqual(answer);
  const { runs } = await squad.json<{ runs: { id: string; options: { subagent: string | null } }[] }>(['ls']);
  return runs.find(({ options }) => options.subagent === 'review_changes')!.id;
}

/** The thing that a word of a document stands for, or the word. Commands that change a run have one of their own. */
async function thingFor(word: string, [command = '', , third]: string[]): Promise<string> {
  if (/^(RUN|run_…|run_7k2)$/.test(word)) {
    if (command === 'review') return reviewed();
    if (command === 'conversation') return read.conversation;
    if (command === 'tell' || command === 'interrupt') return (await start(script('hang'))).runIds[0];
    return /^(integrate|worktrees|cancel|reply|comment|export)$/.test(command)
      ? (await finished()).runIds[0]
      : read.RUN;
  }
  if (word === 'SQUAD') {
    if (command === 'retry') return (await finished(FAILS_ONCE, 'architect')).squadId;
    return command === 'integrate' ? (await finished()).squadId : read.SQUAD;
  }
  if (/^(ITEM|ask_7f3k.*)$/.test(word))
    return asked(`ask "Which one?"${third === '2' ? ' sqlite postgres' : ''}`);
  const others: Record<string, string> = {
    'me@box1.example.com': 'box',
    'me@box2.example.com': 'box',
    '/srv/project': box.home,
    CLIENT: 'claude-code',
    FILE: '.mcp.json',
    ID: 'chat-1',
    'd-1a2b3c4d': read.decision,
  };
  return others[word] ?? word;
}

/** Carries out a command of a document. One that is refused as expected counts as done. */
async function carryOut({ words, ...where }: ShellCommand): Promise<Ran> {
  const line = words.join(' ');
  const args: string[] = [];
  for (const word of words) args.push(await thingFor(word, words));
  if (words[0] === 'open') args.push('--no-browser');
  if (line.startsWith('machines add')) args.push('--ssh-config', box.sshConfig);
  const ran = await (LASTING.test(line) ? interrupted(args) : squad.run(args, where));
  const refusal = REFUSED.find(({ command }) => command.test(line));
  if (!refusal) return ran;
  const isRight = ran.stderr.includes(`(${refusal.code})`);
  return { ...ran, code: isRight ? 0 : 1, stderr: isRight ? '' : `Not ${refusal.code}: ${ran.stderr}` };
}

/** Interrupts it once it is connected to the hub: some print only what happens from then on. */
async function interrupted(args: string[]): Promise<Ran> {
  const child = squad.start(args);
  const end = ended(child);
  const fds = `/proc/${child.pid}/fd`;
  // Three are its standard streams.
  const isSocket = (fd: string) => {
    try {
      return readlinkSync(join(fds, fd)).startsWith('socket:');
    } catch {
      return false; // closed meanwhile
    }
  };
  await until(
    'it is connected',
    () => child.exitCode !== null || readdirSync(fds).filter(isSocket).length > 3,
  );
  child.kill('SIGINT');
  const { code, ...printed } = await end;
  return { ...printed, code: code === null || code === 130 ? 0 : code };
}

/** They remove all work trees, of which each later document makes some. */
const REMOVES_ALL = /upgrade|worktree-removal/;
/** Tests of their own run their commands: documented-commands, e2e/setup/doctor-policy, postgres/hub and postgres/team. */
const ELSEWHERE = /\/(ci|sandbox-proof|postgresql|team-database)\.md$/;
const documents = ['README.md', ...documentsBelow('docs/guides')]
  .filter(path => !ELSEWHERE.test(path) && shellBlocks(path).length > 0)
  .sort((a, b) => Number(REMOVES_ALL.test(b)) - Number(REMOVES_ALL.test(a)));

test.each(documents)('the commands of %s do what it says', async path => {
  if (path.endsWith('machines.md')) await box.start();
  const agents = path.endsWith('template.md') && { PATH: `${squad.root}/agents:${squad.env.PATH}` };
  for (const block of shellBlocks(path)) {
    const named = block.replaceAll('=…', '=key').replaceAll(':3001', `:${squad.env.MCP_SERVER_PORT}`);
    // A script that Squad starts for a question gets the question.
    const lines = block.startsWith('#!') ? `{ ${named} } <<< '${JSON.stringify(QUESTION)}'` : named;
    const { code, stdout, stderr } = await runInShell(squad, lines, carryOut, { ...agents });
    expect({ block, code, said: code === 0 ? '' : stdout + stderr }).toEqual({ block, code: 0, said: '' });
  }
});
