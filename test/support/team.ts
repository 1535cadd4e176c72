import { join } from 'node:path';
import { askHub } from './ask-hub.ts';
import { GitSquad, script, scriptOf } from './git-squad.ts';
import { until } from './squad.ts';

/** Ids of the sample data: one of each kind of thing that the web UI shows. */
export interface Team {
  squadId: string;
  lead: string;
  /** Has had a round of review and waits for the second. */
  coder: string;
  asks: string;
  approves: string;
  failed: string;
  done: string;
}

const ROLES = {
  lead: '---\ndescription: Plans and hands out work\nspawn: true\n---\nYou lead.',
  coder: '---\ndescription: Writes the code\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: '---\ndescription: Reads what others wrote\ntype: review\n---\nYou review.',
  tester: '---\ndescription: Tries to break it\n---\nYou test.',
  writer: '---\ndescription: Writes the guides\nisolation: worktree\n---\nYou write.',
};

/** A project in the middle of its day. Its agents follow scripts; everything else is real. */
export class TeamSquad extends GitSquad {
  constructor() {
    super(ROLES);
    for (const [path, text] of Object.entries(FILES)) this.write(path, text);
    const server = join(import.meta.dirname, '..', 'servers', 'echo.ts');
    this.write(
      '.squad/mcp-config.json',
      JSON.stringify({
        servers: {
          tracker: { command: process.execPath, args: [server], tools: ['echo'] },
          pages: { command: '/bin/false', tools: ['*'] },
        },
        agentServers: { coder: ['tracker'], tester: ['tracker', 'pages'] },
      }),
    );
    this.git('add', '-A');
    this.git('commit', '-qm', 'Uploads');
  }

  /** Returns when each of them is where it should be. */
  async work(): Promise<Team> {
    await this.unlimited();
    await this.set('stop.grace_ms', '200');
    await this.set('budget.day_usd', '20');
    await this.run(['trust', '-y', '.squad/mcp-config.json']);
    const done = await this.begin('writer', DOCUMENT);
    const failed = await this.begin('coder', UPGRADE);
    await this.run(['wait', done, failed]);
    const lead = await this.begin('lead', SHIP);
    const asks = await this.begin('coder', CHOOSE);
    const approves = await this.begin('tester', RELEASE);
    const { run } = await askHub<{ run: { squadId: string } }>(this, 'show_run', { run: lead });
    const coder = await until('the second round is under way', async () => {
      const { reviews } = await askHub<{
        reviews: { coderId: string; iteration: number; reviewerStatus: string | null }[];
      }>(this, 'list_reviews');
      const second = reviews.find(({ iteration }) => iteration === 2);
      return second?.reviewerStatus === 'running' && second.coderId;
    });
    await until(
      'both ask',
      async () => (await askHub<{ items: unknown[] }>(this, 'list_inbox')).items.length === 2,
    );
    return { squadId: run.squadId, lead, coder, asks, approves, failed, done };
  }

  private async begin(roleId: string, task: string): Promise<string> {
    const members = [{ roleId, task }];
    return (await askHub<{ runIds: [string] }>(this, 'start_squad', { members })).runIds[0];
  }
}

const call = (tool: string, input: object) => `call ${tool} ${JSON.stringify(input)}`;
const review = (message: string, ...lines: string[]) =>
  call('request_review', { completion_message: message, reviewer_prompt: script(...lines) });

/** Output that follows other output too quickly is only counted, not shown. */
const LATER = ['sleep 300ms'];
/** Runs for minutes, with some output now and then. */
const working = (words: string) => Array.from({ length: 15 }, () => ['sleep 20s', `say ${words}`]).flat();

const RETRY = `Retry failed uploads three times${script(
  ...['say Reading src/upload.ts and its tests.', 'run cat src/upload.ts', 'write src/retry.ts'],
  ...[
    '| /** Tries again while it is worth it. */',
    '| export async function retry<T>(act: () => Promise<T>): Promise<T> {',
  ],
  ...[
    '|   for (let left = 3; ; left--) {',
    '|     try {',
    '|       return await act();',
    '|     } catch (thrown) {',
  ],
  ...['|       if (left === 0) throw thrown;', '|     }', '|   }', '| }'],
  ...['say A retry around the request. Now its test.', 'write test/retry.test.ts'],
  ...[
    "| test('gives up after three times', async () => {",
    '|   await expect(retry(fail)).rejects.toThrow();',
    '| });',
  ],
  "run printf '\\033[32m✓\\033[0m gives up after three times \\033[2m(4 ms)\\033[0m\\n\\n\\033[1m1 passed\\033[0m\\n'",
  'usage 48200 3100 39000 0.41',
  review(
    'Uploads are tried again three times, with a test.',
    'run cat src/retry.ts',
    'usage 12100 800 9000 0.08',
    call('send_feedback', {
      feedback: 'It tries again at once. A server that is overloaded needs a pause between the attempts.',
      feedback_type: 'needs_work',
      actionable_items: ['Wait between attempts, longer each time', 'Do not retry a 4xx'],
    }),
  ),
  ...LATER,
  'say The reviewer has it now.',
)}${scriptOf(
  2,
  ...['say A pause that doubles, and no second try for a 4xx.', 'write src/retry.ts'],
  ...['| const FIRST_PAUSE_MS = 200;', '| ', '| /** Tries again while it is worth it. */'],
  ...['| export async function retry<T>(act: () => Promise<T>): Promise<T> {'],
  ...[
    '|   for (let left = 3, pause = FIRST_PAUSE_MS; ; left--, pause *= 2) {',
    '|     try {',
    '|       return await act();',
  ],
  ...[
    '|     } catch (thrown) {',
    '|       if (left === 0 || isRefusal(thrown)) throw thrown;',
    '|       await wait(pause);',
  ],
  ...['|     }', '|   }', '| }', 'usage 31500 2200 26000 0.27'],
  review(
    'It waits between attempts now, and a 4xx is not tried again.',
    'say Reading what changed since the last round.',
    ...working('Reading what changed since the last round.'),
  ),
  ...LATER,
  'say The reviewer has it again.',
)}`;

const SHIP = `Ship upload retries${script(
  'say Two of us: one writes it, one tries to break it.',
  'usage 9400 610 7000 0.09',
  call('start_squad_members', {
    members: [
      { roleId: 'coder', task: RETRY },
      {
        roleId: 'tester',
        task: `Break the upload with a slow server${script('say Starting a server that answers after 30 seconds.', 'try sh -c "echo slow; exit 1"', 'usage 15800 900 12000 0.11', 'say The third attempt times out as it should.', ...working('Trying a server that closes the line.'))}`,
      },
    ],
  }),
  ...LATER,
  'say Both are at it.',
  ...working('Both are at it.'),
)}`;

const CHOOSE = `Add a cache for thumbnails${script(
  'say Thumbnails are made anew for every request.',
  'run ls src',
  'usage 22300 1400 18000 0.16',
  'ask "Where should thumbnails be kept: on disk, or in Redis as the sessions are?" disk Redis',
)}`;

const RELEASE = `Release 1.4.0${script(
  'say All 212 tests pass; the changelog is written.',
  'usage 6100 420 4800 0.05',
  // Asked again and again, it is one question: each call waits for as long as a call may.
  ...Array.from({ length: 10 }, () =>
    call('ask_user', {
      ...{ question: 'Push the tag v1.4.0?', kind: 'approval' },
      details: 'git push origin v1.4.0\n\nThis starts the release workflow.',
    }),
  ),
)}`;

const UPGRADE = `Upgrade the image library${script(
  ...[
    'say Version 9 drops the callback interface.',
    'write package.json',
    '| { "dependencies": { "images": "9.0.0" } }',
  ],
  ...[
    'stderr \u001b[31merror\u001b[0m: images@9.0.0 needs Node 26, this is 24',
    'stderr     at install (install.js:118)',
  ],
  ...['usage 8800 510 7000 0.06', 'fail npm install ended with 1'],
)}`;

const DOCUMENT = `Document the retry option${script(
  ...['say One section in the guide of uploads.', 'append README.md', '| ', '| ## Retries', '| '],
  ...[
    '| An upload that fails is tried again three times.',
    'run git status --short',
    'usage 5200 640 4100 0.04',
  ],
  ...[
    'report The guide has a section on retries.',
    '| ',
    '| - `README.md:3`: **Retries**, with the number of attempts',
    '| - nothing else changed',
  ],
  ...['| ', '| ~~~ts', '| await upload(file, { retries: 3 });', '| ~~~'],
)}`;

const FILES: Record<string, string> = {
  'src/upload.ts':
    'export const upload = (file: Blob) => fetch("/upload", { method: "POST", body: file });\n',
  '.squad/team.md':
    '| Name | Role | Status |\n| --- | --- | --- |\n| coder | Coder | Active |\n| reviewer | Reviewer | Active |\n',
  '.squad/backlog.md': `## Next

- [ ] Retry failed uploads [P1] @coder (#12)
  Three times, then tell the user.
- [ ] Keep thumbnails [P2] @coder (#15)
- [x] Measure uploads (#9)

## Later

- [ ] Resume an upload after a reload (#21)
- [ ] Limit the size of a file [P2]
`,
  '.squad/decisions.md': `### 2026-02-01: Sessions live in Redis
**By:** Ann
**What:** Sessions are kept in Redis, not in the database.
**Why:** They are short-lived, and the database is backed up.

### 2026-03-14: Uploads go to the server in one request
**By:** coder
**What:** No chunks until files are larger than 100 MB.
**Why:** A retry of the whole file is simpler, and fast enough.

### 2026-04-02: Tests do not sleep
**By:** reviewer
**What:** A test waits for an event.
**Why:** Sleeping tests were slow and failed on busy machines.
`,
};
