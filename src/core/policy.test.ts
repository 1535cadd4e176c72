import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../operations/operations.ts';
import { RUN_SUBAGENT } from '../operations/subagents/run-subagent.ts';
import type { RunId, SquadId } from '../schema/ids.ts';
import type { AgentType } from '../schema/review.ts';
import { NO_SANDBOX } from '../schema/sandbox.ts';
import {
  type Action,
  type Asked,
  allowed as allowedTo,
  decision as decisionOn,
  notAllowed as notAllowedTo,
  permissionFrom,
  type RunSubject,
  type Subject,
  toolsFrom,
} from './policy.ts';

const id = (n: number) => `run_${String(n).padStart(10, '0')}` as RunId;
const squad = (n: number) => `squad_${String(n).padStart(10, '0')}` as SquadId;
const run = (more: Partial<RunSubject> = {}): RunSubject => ({
  kind: 'run',
  id: id(1),
  squadId: squad(1),
  depth: 0,
  type: null,
  reviewOf: null,
  lineageId: null,
  ...{ parentId: null, messages: [] },
  isProven: true,
  spawn: false,
  records: false,
  worktree: null,
  permission: 'edit',
  sandbox: NO_SANDBOX,
  tools: null,
  isLive: true,
  ...more,
});
const USER: Subject = { kind: 'user' };

/** The operation of that name, or one that does not exist, which must be as closed as any that is only for the user. */
const action = (name: string): Action =>
  [...OPERATIONS, RUN_SUBAGENT].find(each => each.name === name) ?? { name, agents: null };
const decision = (subject: Subject, name: string, object?: Asked) =>
  decisionOn(subject, action(name), object);
const allowed = (...asked: Parameters<typeof decision>) => decision(...asked).allowed;
const notAllowed = (subject: Subject, name: string) => notAllowedTo(subject, action(name));

/** Written by hand, apart from the code: what a run may do with `spawn`, and what without. */
const WITH_SPAWN = [
  ...['answer_question', 'list_inbox'],
  ...['list_roles', 'start_squad_members', 'spawn_claude', 'spawn_codex', 'spawn_agent', 'spawn_parallel'],
  ...['get_result', 'list_running', 'cancel_run'],
  ...[
    'start_squad',
    'list_runs',
    'show_run',
    'read_output',
    'locate_output',
    'search_output',
    'follow_events',
  ],
  ...['reply_to_run', 'retry_runs', 'wait_for_runs', 'find_runs', 'diff_run'],
  ...['inspect_workspace', 'inspect_engines', 'preview_context'],
];
const NEVER = [
  ...['change_setting', 'stop_hub', 'prune', 'hub_status', 'change_trust', 'no_such_tool', ''],
  ...['constructor', '__proto__', 'toString', 'SQUAD_STATUS', 'squad_status ', 'agents://iac-log'],
];
const IN_A_SUBAGENT = ['run_subagent'];
const ALWAYS = ['squad_status', 'squad_decision_search', 'read_team', 'ask_user'];
const BY_TYPE: Record<string, AgentType[]> = {
  request_review: ['coding'],
  send_feedback: ['review'],
  create_pull_request: ['planning', 'coding', 'review'],
  create_issues: ['planning'],
};
const ACTIONS = [
  ...ALWAYS,
  'squad_decision_record',
  ...WITH_SPAWN,
  ...IN_A_SUBAGENT,
  ...Object.keys(BY_TYPE),
  ...NEVER,
];

describe('actions of a run', () => {
  test('with nothing granted it is to see where it stands and what the team decided', {
    tags: ['B10', 'F3'],
  }, () => {
    expect(ACTIONS.filter(action => allowed(run(), action))).toEqual(ALWAYS);
  });

  test('with spawn it is also what starting and looking after runs takes', () => {
    expect(ACTIONS.filter(action => allowed(run({ spawn: true }), action))).toEqual([
      ...ALWAYS,
      ...WITH_SPAWN,
    ]);
  });

  test('a call of a subagent may also call another subagent', () => {
    const given = ACTIONS.filter(action => allowed(run({ isSubagent: true }), action));
    expect(given).toEqual([...ALWAYS, ...IN_A_SUBAGENT]);
  });

  test('a run may record a decision if its role says so', () => {
    expect(ACTIONS.filter(action => allowed(run({ records: true }), action))).toEqual([
      ...ALWAYS,
      'squad_decision_record',
    ]);
  });

  test('once it has ended it is squad_status, whatever its role granted', () => {
    const ended = run({ spawn: true, records: true, type: 'coding', isLive: false });
    expect(ACTIONS.filter(action => allowed(ended, action))).toEqual(['squad_status']);
  });

  test('with a type it is also what that type is for', () => {
    for (const type of ['planning', 'coding', 'review'] as const)
      expect(ACTIONS.filter(action => allowed(run({ type, reviewOf: id(5) }), action))).toEqual([
        ...ALWAYS,
        ...Object.keys(BY_TYPE).filter(action => BY_TYPE[action]?.includes(type)),
      ]);
  });

  test('the user may do all of it, to any run, but what agents do about themselves', () => {
    const object = { line: [id(9)], squadId: squad(9) };
    const denied = ACTIONS.filter(action => !allowed(USER, action));
    expect(denied).toEqual(['ask_user', ...Object.keys(BY_TYPE)]);
    expect(ACTIONS.filter(action => !allowed(USER, action, object))).toEqual(denied);
  });
});

/** The same once more, as a table with one row for each way to be related. */
function reference(subject: Subject, action: string, relation: Relation | null): boolean {
  const types = Object.hasOwn(BY_TYPE, action) ? BY_TYPE[action] : undefined;
  if (subject.kind === 'user') return types === undefined && action !== 'ask_user';
  if (types)
    return (
      subject.isLive &&
      subject.type !== null &&
      types.includes(subject.type) &&
      (relation === null ||
        relation === 'itself' ||
        (relation === 'parent' && subject.reviewOf === id(5)) ||
        (relation === 'stranger' && subject.reviewOf === id(8)))
    );
  const isOwn =
    relation === null || relation === 'itself' || relation === 'child' || relation === 'grandchild';
  if (action === 'squad_status') return isOwn || relation === 'sibling';
  if (!subject.isLive || !isOwn) return false;
  if (ALWAYS.includes(action)) return true;
  if (action === 'squad_decision_record') return subject.records;
  return WITH_SPAWN.includes(action) && subject.spawn;
}

type Relation = 'itself' | 'child' | 'grandchild' | 'parent' | 'sibling' | 'nephew' | 'stranger';
const OBJECTS: Record<Relation, { line: RunId[]; squadId: SquadId }> = {
  itself: { line: [id(1), id(5)], squadId: squad(1) },
  child: { line: [id(2), id(1), id(5)], squadId: squad(2) },
  grandchild: { line: [id(3), id(2), id(1), id(5)], squadId: squad(3) },
  parent: { line: [id(5)], squadId: squad(5) },
  sibling: { line: [id(6), id(5)], squadId: squad(1) },
  nephew: { line: [id(7), id(6), id(5)], squadId: squad(7) },
  stranger: { line: [id(8)], squadId: squad(8) },
};

test('every subject, action and object is decided as the reference does', { tags: ['D1'] }, () => {
  const subjects: Subject[] = [
    USER,
    ...[true, false].flatMap(spawn =>
      [true, false].flatMap(isLive =>
        [true, false].flatMap(records => [0, 1, 2].map(depth => run({ spawn, isLive, records, depth }))),
      ),
    ),
    ...(['planning', 'coding', 'review'] as const).flatMap(type =>
      [true, false].flatMap(isLive =>
        [id(5), id(8), null].flatMap(reviewOf =>
          [true, false].map(spawn => run({ type, isLive, reviewOf, spawn })),
        ),
      ),
    ),
  ];
  let decided = 0;
  for (const subject of subjects)
    for (const action of ACTIONS)
      for (const relation of [null, ...(Object.keys(OBJECTS) as Relation[])]) {
        const object = relation === null ? undefined : OBJECTS[relation];
        const said = { subject, action, relation, allowed: allowed(subject, action, object) };
        expect(said).toEqual({ ...said, allowed: reference(subject, action, relation) });
        decided++;
      }
  expect(decided).toBe((25 + 36) * ACTIONS.length * 8);
});

test('a run may send messages to those that its role names, whatever else it may do, and never to itself', {
  tags: ['G4'],
}, () => {
  const reached = (more: Partial<RunSubject>) => {
    const subject = run({ parentId: id(5), spawn: true, ...more });
    return Object.keys(OBJECTS).filter(to => allowed(subject, 'send_message', OBJECTS[to as Relation]));
  };
  expect(reached({ messages: ['sibling'] })).toEqual(['sibling']);
  expect(reached({ messages: ['child'] })).toEqual(['child', 'grandchild']);
  expect(reached({ messages: ['lead'] })).toEqual(['parent']);
  expect(reached({ messages: ['client'] })).toEqual([]);
  expect(reached({ messages: [] })).toEqual([]);
  const all = { messages: ['sibling', 'child', 'lead', 'client'] as const };
  expect(reached(all)).toEqual(['child', 'grandchild', 'parent', 'sibling']);
  expect(reached({ ...all, isProven: false })).toEqual([]);
  expect(reached({ ...all, isLive: false })).toEqual([]);
  // A run of the user has no lead, and runs without one are no siblings.
  const top = { ...OBJECTS.stranger, line: [id(8)] };
  expect(allowed(run({ ...all, parentId: null }), 'send_message', top)).toBe(false);
});

test('nothing about an object allows what the action alone does not', () => {
  for (const subject of [run(), run({ spawn: true }), run({ spawn: true, isLive: false })])
    for (const action of ACTIONS)
      for (const object of Object.values(OBJECTS))
        expect(allowed(subject, action, object) && !allowed(subject, action)).toBe(false);
});

describe('tools of other servers that a run may use', () => {
  const all = { only: [], except: new Set<string>() };
  const none = { only: [new Set<string>()], except: new Set<string>() };
  const servers = [
    {
      server: 'files',
      tools: all,
      resources: none,
      prompts: none,
      argumentRules: [],
      folder: null,
      known: null,
      unmatched: [],
      dangling: [],
    },
  ];
  const grants = { servers, workspaceRoot: '/w' };
  const thing = { kind: 'tool', server: 'files', name: 'read', isApproved: true } as const;

  test('is what its grants say, and nothing without any or after its end', () => {
    expect(allowedTo(run({ grants }), 'use', thing)).toBe(true);
    expect(allowedTo(run({ grants }), 'use', { ...thing, kind: 'prompt' })).toBe(false);
    expect(allowedTo(run({ grants }), 'use', { ...thing, isApproved: false })).toBe(false);
    expect(allowedTo(run(), 'use', thing)).toBe(false);
    expect(allowedTo(run({ grants, isLive: false }), 'use', thing)).toBe(false);
  });

  test('comes with the reason where it is not', () => {
    const why = (subject: Subject, more: object = {}) => decisionOn(subject, 'use', { ...thing, ...more });
    expect(why(run({ grants }))).toEqual({ allowed: true });
    expect(why(run({ grants }), { server: 'mail' })).toEqual({ allowed: false, reason: 'server' });
    expect(why(run())).toEqual({ allowed: false, reason: 'server' });
    expect(why(run({ grants }), { kind: 'prompt' })).toEqual({ allowed: false, reason: 'not_listed' });
    expect(why(run({ grants }), { isApproved: false })).toEqual({ allowed: false, reason: 'not_approved' });
    expect(why(USER, { isApproved: false })).toEqual({ allowed: false, reason: 'not_approved' });
    expect(why(run({ grants, isLive: false }))).toEqual({ allowed: false, reason: 'ended' });
  });

  test('is nothing unapproved for the user either', () => {
    expect(allowedTo(USER, 'use', thing)).toBe(true);
    expect(allowedTo(USER, 'use', { ...thing, isApproved: false })).toBe(false);
  });

  test('is not asked by an action that is about runs, nor about runs by `use`', () => {
    const asked = (object: unknown, by: Action | 'use' = 'use') =>
      allowedTo(run({ grants }), by as Action, object as never);
    expect(asked(thing, action('squad_status'))).toBe(false);
    expect(asked(undefined)).toBe(false);
    expect(asked(OBJECTS.itself)).toBe(false);
  });
});

test('a decision about an action says what stands against it', () => {
  const why = (subject: Subject, action: string, relation?: Relation) => {
    const said = decision(subject, action, relation && OBJECTS[relation]);
    return said.allowed || said.reason;
  };
  expect(why(run(), 'stop_hub')).toBe('for_the_user');
  expect(why(run(), 'start_squad')).toBe('spawn');
  expect(why(run(), 'squad_decision_record')).toBe('record');
  expect(why(run(), 'request_review')).toBe('type');
  expect(why(run({ type: 'review' }), 'request_review')).toBe('type');
  expect(why(run({ type: 'coding' }), 'request_review', 'child')).toBe('not_its_own');
  expect(why(run({ type: 'coding', isProven: false }), 'request_review')).toBe('unproven');
  expect(why(run({ isProven: false }), 'squad_status')).toBe(true);
  expect(why(run({ isProven: false }), 'ask_user')).toBe('unproven');
  expect(why(run({ isProven: false, spawn: true }), 'answer_question')).toBe('unproven');
  expect(why(run(), 'answer_question')).toBe('spawn');
  expect(why(USER, 'ask_user')).toBe('for_agents');
  expect(why(USER, 'ask_permission')).toBe('for_agents');
  expect(why(run({ spawn: true }), 'ask_permission')).toBe('approvals');
  expect(why(run({ approvals: true }), 'ask_permission')).toBe(true);
  expect(why(run({ approvals: true, isProven: false }), 'ask_permission')).toBe('unproven');
  expect(why(USER, 'send_feedback')).toBe('for_agents');
  expect(why(run({ spawn: true, isLive: false }), 'start_squad')).toBe('ended');
  expect(why(run({ spawn: true }), 'show_run', 'stranger')).toBe('not_its_own');
  expect(why(run({ spawn: true }), 'show_run', 'child')).toBe(true);
  expect(why(USER, 'stop_hub')).toBe(true);
});

test('a refusal says in which run, and what would help', () => {
  const words = (subject: RunSubject, action: string) => {
    const { code, message, suggestions } = notAllowed(subject, action);
    return [code, message, ...suggestions].join('\n');
  };
  expect(words(run(), 'start_squad')).toMatch(/^NOT_ALLOWED\n.*run_0000000001.*start_squad\n.*`spawn: true`/);
  expect(words(run({ spawn: true }), 'stop_hub')).toMatch(/stop_hub is for the user/);
  expect(words(run({ spawn: true }), 'ask_permission')).toMatch(/ask_permission\n.*`approvals: ask`/);
  expect(words(run(), 'stop_hub')).not.toContain('spawn');
  expect(words(run(), 'request_review')).toMatch(/role has no type, .* request_review\n.*`type: coding` in/);
  expect(words(run({ type: 'coding' }), 'send_feedback')).toMatch(/of type coding.*\n.*`type: review`/);
  expect(words(run({ type: 'review', isProven: false }), 'send_feedback')).toMatch(
    /names run run_0000000001, .*send_feedback.*\n.*`squad mcp --identity FILE`/,
  );
  expect(words(run(), 'create_pull_request')).toMatch(/`type: planning` or `type: coding` or `type: review`/);
  expect(notAllowed(USER, 'send_feedback').message).toMatch(
    /send_feedback can only be called by a running agent/,
  );
  expect(words(run(), 'squad_decision_record')).toMatch(/`squad\/squad_decision_record` among `mcp`/);
  expect(words(run(), 'squad_decision_record')).not.toContain('spawn');
  expect(words(run({ spawn: true, isLive: false }), 'start_squad')).toMatch(/which has ended/);
});

test.each([
  // has, asks for, role says, gives
  ['read', undefined, undefined, 'read'],
  ['edit', undefined, undefined, 'edit'],
  ['full', undefined, undefined, 'edit'],
  ['read', undefined, 'full', 'full'],
  ['read', 'read', 'full', 'read'],
  ['edit', 'edit', 'read', 'edit'],
  ['full', 'full', undefined, 'full'],
  ['read', 'edit', undefined, null],
  ['read', 'edit', 'full', 'edit'],
  ['read', 'full', 'edit', null],
  ['edit', 'full', undefined, null],
] as const)(
  'a run with permission %s that asks for %s, by a role that says %s, gives %s',
  (permission, asked, role, given) => {
    const give = () => permissionFrom(run({ permission }), asked, role);
    if (given !== null) expect(give()).toBe(given);
    else expect(give).toThrow(expect.objectContaining({ code: 'NOT_ALLOWED' }));
  },
);

test.each([
  // has, asks for, role says, gives
  [null, undefined, undefined, null],
  [null, ['Bash'], undefined, ['Bash']],
  [['Read'], undefined, undefined, ['Read']],
  [['Read'], null, undefined, ['Read']],
  [['Read'], undefined, ['Bash'], ['Bash']],
  [['Read', 'Bash'], ['Bash(git log)'], undefined, ['Bash(git log)']],
  [['Read'], ['Bash'], ['Bash'], ['Bash']],
  [['Read'], ['Read', 'Bash'], undefined, 'refused'],
  [['Bash(git log)'], ['Bash'], undefined, 'refused'],
  [[], ['Read'], undefined, 'refused'],
] as const)(
  'a run with the tools %j that asks for %j, by a role that says %j, gives %j',
  (tools, asked, role, given) => {
    const give = () => toolsFrom(run({ tools }), asked && [...asked], role && [...role]);
    if (given !== 'refused') expect(give()).toEqual(given);
    else expect(give).toThrow(expect.objectContaining({ code: 'NOT_ALLOWED' }));
  },
);
