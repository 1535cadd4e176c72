import { describe, expect, it } from 'vitest';
import { roleOf, taskText } from './task-text.ts';

const ITEM = {
  number: 1,
  title: 'Rate limits',
  done: false,
  issue: null,
  owner: null,
  priority: null,
  notes: null,
  key: '0123456789ab',
  run: null,
};

describe('taskText', () => {
  it('has title, issue and notes, and says where they are from', () => {
    const text = taskText({ ...ITEM, issue: '#12', notes: 'Per user.\nNot per key.' });
    expect(text).toBe(
      'Rate limits (#12)\n\nPer user.\nNot per key.\n\nThis is an item of .squad/backlog.md.',
    );
  });

  it('has no empty part for what is not there', () => {
    expect(taskText(ITEM)).toBe('Rate limits\n\nThis is an item of .squad/backlog.md.');
  });
});

describe('roleOf', () => {
  it('finds the role that an owner is, by id or name', () => {
    const roles = [{ id: 'frontend-developer', name: 'Mara' }];
    expect(roleOf('@mara', roles)).toBe('frontend-developer');
    expect(roleOf('Frontend-Developer', roles)).toBe('frontend-developer');
    expect(roleOf('joe', roles)).toBeNull();
    expect(roleOf(null, roles)).toBeNull();
  });
});
