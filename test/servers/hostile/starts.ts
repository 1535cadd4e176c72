import { errorOf, resultOf, welcome } from '../message.ts';
import type { Behaviour } from './behaviour.ts';

const never = { comesUp: false, call: 'nothing' } as const;

/** Servers that fail before there is a connection. */
export const STARTS = {
  'mute-initialize': { what: 'never answers initialize', ...never, on: { initialize: () => true } },
  'mute-list': { what: 'never answers tools/list', ...never, on: { 'tools/list': () => true } },
  'dies-at-start': {
    what: 'says why and ends before anything is asked',
    ...never,
    started: stage => {
      process.stderr.write('Cannot find the moon\n');
      stage.die(3);
    },
  },
  'dies-at-initialize': {
    what: 'ends during the handshake',
    ...never,
    on: {
      initialize: (_message, stage) => {
        stage.die(1);
        return true;
      },
    },
  },
  'refuses-initialize': {
    what: 'answers initialize with an error',
    ...never,
    on: {
      initialize: ({ id }, stage) => {
        stage.send(errorOf(id, -32603, 'Not today'));
        return true;
      },
    },
  },
  'unknown-revision': {
    what: 'speaks a revision nobody knows yet',
    ...never,
    on: {
      initialize: ({ id, params }, stage) => {
        stage.send(resultOf(id, { ...welcome('hostile', params), protocolVersion: '2099-01-01' }));
        return true;
      },
    },
  },
  'prints-a-banner': {
    what: 'prints lines that are no protocol before its first answer',
    comesUp: true,
    call: 'result',
    started: stage => stage.raw('Welcome to hostile 1.0\n\n{ nearly json\nReady.\n'),
  },
  'lists-nothing': {
    what: 'answers tools/list without a list',
    ...never,
    on: {
      'tools/list': ({ id }, stage) => {
        stage.send(resultOf(id, {}));
        return true;
      },
    },
  },
  'refuses-list': {
    what: 'answers tools/list with an error',
    ...never,
    on: {
      'tools/list': ({ id }, stage) => {
        stage.send(errorOf(id, -32603, 'No list today'));
        return true;
      },
    },
  },
} satisfies Record<string, Behaviour>;
