import { expect, test } from 'vitest';
import { requestOf, workspaceHeader } from './request.ts';

test('a field in braces is in the path, the rest of a GET in the query, a list as often as it is long', () => {
  expect(requestOf('list_board', { status: ['failed', 'running'], q: 'a b', squad: undefined })).toEqual({
    method: 'GET',
    path: '/board?status=failed&status=running&q=a+b',
    body: null,
  });
  expect(requestOf('run_actions', { run: 'a/b' }).path).toBe('/runs/a%2Fb/actions');
});

test('the rest of a POST is its body', () => {
  expect(requestOf('answer_question', { item: 'ask_1', answer: 'yes' })).toEqual({
    method: 'POST',
    path: '/inbox/ask_1/answer',
    body: '{"answer":"yes"}',
  });
  expect(requestOf('stop_hub').body).toBe('{}');
});

test('a folder whose name is not ASCII fits into a header', () => {
  expect(workspaceHeader('/a b')).toBe('/a b');
  expect(workspaceHeader('/ä')).toBe("utf-8''%2F%C3%A4");
});
