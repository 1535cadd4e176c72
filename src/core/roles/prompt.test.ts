import { describe, expect, it } from 'vitest';
import { buildPrompt } from './prompt.ts';

const footer =
  '\n\n---\n\n# Setup & Reporting Rules\n\n' +
  'If you notice any setup or environment problems that prevent you from completing your task,\n' +
  'you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.\n\n' +
  'Explain what you observed and suggest specific steps for the human to fix.\n' +
  'Do not pretend the task succeeded.';

describe('buildPrompt', () => {
  it('puts the role before the task in a stateless run', { tags: ['A4', 'A5'] }, () => {
    expect(buildPrompt({ roleBody: 'You build UIs.', task: 'Build search', mode: 'stateless' })).toBe(
      `You build UIs.\n\n---\n\n# Task\nBuild search${footer}`,
    );
  });

  it('calls the task initial in a new chat', { tags: ['A4'] }, () => {
    expect(buildPrompt({ roleBody: 'You build UIs.', task: 'Build search', mode: 'new_chat' })).toBe(
      `You build UIs.\n\n---\n\n# Initial Task\nBuild search${footer}`,
    );
  });

  it('leaves the role out of a continued chat', { tags: ['A4', 'A5'] }, () => {
    expect(buildPrompt({ roleBody: 'You build UIs.', task: 'Go on', mode: 'continued' })).toBe(
      `# Task\nGo on${footer}`,
    );
  });

  it.each(['/init', ' \n@PLAN.md', '!ls'])(
    'never begins with %j, which is a command to some CLIs',
    roleBody => {
      for (const mode of ['stateless', 'new_chat', 'spawn'] as const)
        expect(buildPrompt({ roleBody, task: roleBody, mode })).toMatch(/^# Your Role\n\n\s*[/@!]/);
      expect(buildPrompt({ roleBody: '', task: roleBody, mode: 'spawn' })).toMatch(/^# Your Task/);
      expect(buildPrompt({ roleBody, task: roleBody, mode: 'continued' })).toMatch(/^# Task/);
    },
  );

  it('keeps every character of the task', () => {
    const task = '  $1 $& `x` "q" \\n\n\n---\n';
    expect(buildPrompt({ roleBody: 'r', task, mode: 'stateless' })).toBe(
      `r\n\n---\n\n# Task\n${task}${footer}`,
    );
  });
});
