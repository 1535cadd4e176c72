import { expect, test } from 'vitest';
import type { Turn } from './conversation.ts';
import { directivesIn, mock, nextStep } from './script.ts';

const asked = (...turns: Turn[]) => nextStep({ model: 'm', stream: false, system: '', tools: [], turns });
const user = (text: string): Turn => ({ by: 'user', text });
const model: Turn = { by: 'model', text: '' };
const tool: Turn = { by: 'tool', text: 'done' };

test('a prompt that says nothing is answered with ok', () => {
  expect(asked(user('hello'))).toEqual({ tag: null, number: 0, step: { text: 'ok' }, prompt: 'hello' });
});

test('the step follows from how often the model has answered since', () => {
  const prompt = user(`Do it. ${mock([{ shell: 'a' }, { shell: 'b' }, { text: 'c' }], 't')} Please.`);
  expect(asked(prompt)).toMatchObject({ tag: 't', number: 0, step: { shell: 'a' } });
  expect(asked(prompt, model, tool)).toMatchObject({ number: 1, step: { shell: 'b' } });
  expect(asked(prompt, model, tool, user('reminder'), model, tool)).toMatchObject({ step: { text: 'c' } });
  expect(asked(prompt, model, tool, model, tool, model)).toMatchObject({ number: 3, step: { text: 'ok' } });
});

test('an answer of several items counts once', () => {
  const prompt = user(mock([{ text: 'say', shell: 'a' }, { text: 'b' }]));
  expect(asked(prompt, model, model, tool)).toMatchObject({ number: 1, step: { text: 'b' } });
});

test('the last directive of a chat counts', () => {
  const chat = [user(mock([{ text: 'first' }])), model, user(mock([{ text: 'second' }]))];
  expect(asked(...chat)).toMatchObject({ number: 0, step: { text: 'second' } });
});

test('a directive in what a tool said is nobody’s', () => {
  expect(
    asked(user(mock([{ text: 'a' }, { text: 'b' }])), model, { by: 'tool', text: mock([{ text: 'c' }]) }),
  ).toMatchObject({
    step: { text: 'b' },
  });
});

test('a directive inside another one is part of its text', () => {
  const inner = mock([{ text: 'child ]] "quoted"' }]);
  const outer = mock([{ call: 'spawn', arguments: { task: inner } }]);
  expect(asked(user(outer)).step.arguments).toEqual({ task: inner });
  expect(directivesIn(`${outer} and ${inner}`)).toHaveLength(2);
});

test('a bare list is a directive without a tag', () => {
  expect(asked(user('[[mock: [{"text":"x"}]]]'))).toMatchObject({ tag: null, step: { text: 'x' } });
});

test('a step nobody knows is refused, not passed over', () => {
  expect(() => asked(user('[[mock: [{"txet":"x"}]]]'))).toThrow(/txet/);
});

test.each(['[[mock: ', '[[mock: {"steps": [', '[[mock:]]', '[[mock: {} then text'])('%s is text', text => {
  expect(directivesIn(text)).toEqual([]);
});
