import { execFileSync } from 'node:child_process';
import { test } from 'vitest';
import { Screen } from '/work/main/test/support/screen.ts';
import { TestSquad } from '/work/main/test/support/squad.ts';
const fenced = (script: string) => `Do it.\n\`\`\`script\n${script}\n\`\`\``;
test('look', async () => {
  await using squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  squad.write('agents/hasty.md', '---\nstall: 2s\nbudget: 1\n---\nx');
  squad.write('agents/coder.md', 'You code.');
  squad.write('PLAN.md', '# Plan');
  execFileSync('git', ['init', '-q'], { cwd: squad.workspace });
  for (const columns of [60, 100]) {
    const s = Screen.open(squad, ['run', 'hasty', fenced('say hi\nusage 1000 20 3 0.9\nhang'), 'coder', fenced('write a.txt\n| hello\nusage 1000 20 3 0.2\nreport Did it.')], { columns });
    await s.shows('quiet');
    console.log(s.lines().join('\n'));
    await s.ended();
    console.log(s.lines().join('\n'));
    s.close();
    for (const args of [['ls'], ['doctor'], ['context']]) {
      const t = Screen.open(squad, args, { columns });
      await t.ended();
      console.log(t.lines().join('\n'));
      t.close();
    }
  }
}, 60000);
