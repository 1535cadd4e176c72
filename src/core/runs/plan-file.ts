import { z } from 'zod';
import { createRedactor, type Secret } from '../../redaction/redactor.ts';
import { EngineSpec } from '../../schema/engine-spec.ts';
import type { Run } from '../../schema/run.ts';
import { isOrdinaryVariable, looksSecretName } from '../gateway/variables.ts';
import type { TurnInput } from '../ports/engine.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Command, TurnRef } from '../ports/turns.ts';
import { parseJson, truncate } from '../text.ts';
import { type RunRequest, SavedRequest } from './run-request.ts';

export const PLAN_FILE = 'plan.json';

const OtherEngineSpec = z.object({
  spec: EngineSpec,
  /** Names of the variables that the gateway uses too and this engine needs, or its role names. */
  variables: z.array(z.string()),
});
export type OtherEngineSpec = z.infer<typeof OtherEngineSpec>;

const SavedPlan = z.object({
  engine: EngineSpec,
  /** Engines that take over at a usage limit, in this order. */
  others: z.array(OtherEngineSpec).default([]),
  request: SavedRequest,
  /** True if the run continues a chat that was not begun by Squad. */
  isAdopted: z.boolean().default(false),
});

/**
 * Saves everything that is needed to build the run's engine again and to repeat the request, even if the
 * configuration changes.
 */
export async function savePlan(
  files: RunFiles,
  turn: TurnRef,
  engine: EngineSpec,
  others: OtherEngineSpec[],
  request: RunRequest,
): Promise<void> {
  const plan: z.infer<typeof SavedPlan> = {
    ...{ engine, others, request: SavedRequest.parse(request) },
    isAdopted: request.isAdopted === true,
  };
  await files.write(turn, PLAN_FILE, JSON.stringify(plan));
}

/**
 * Loads the plan. `spec` is the engine of that turn, and `others` are those that can still take over. Null if its file
 * cannot be read any more.
 */
export async function loadPlan(
  files: RunFiles,
  run: Run,
  turn = run.turn,
): Promise<{ spec: EngineSpec; others: OtherEngineSpec[]; request: RunRequest; isAdopted: boolean } | null> {
  const text = await files.read({ runId: run.id, number: 1 }, PLAN_FILE);
  const kept = SavedPlan.safeParse(text === null ? null : parseJson(text));
  if (!kept.success) return null;
  const request = {
    ...kept.data.request,
    ...(run.roleId !== null && { roleId: run.roleId }),
    ...(run.title !== null && { title: run.title }),
    task: run.task,
    cwd: run.cwd,
    stateMode: run.stateMode,
    lineageId: run.lineageId,
  };
  const takeovers = run.options.limit?.takeovers.filter(number => number <= turn).length ?? 0;
  const spec = kept.data.others[takeovers - 1]?.spec ?? kept.data.engine;
  return { spec, others: kept.data.others.slice(takeovers), request, isAdopted: kept.data.isAdopted };
}

const COMMAND_FILE = 'command.json';
const Arguments = z.array(z.string());

/** Maximum length of a shown argument. It is enough to recognise a schema or a text. */
const MAX_ARGUMENT_LENGTH = 500;
/**
 * Minimum length of a task that is searched for in arguments, because short words also occur in unrelated arguments.
 */
const MIN_TASK_LENGTH = 8;

type Given = Pick<TurnInput, 'prompt' | 'task' | 'endpoint'>;

/** Saves the command of a turn for display. Nothing is started from this file. */
export async function saveCommand(
  files: RunFiles,
  turn: TurnRef,
  command: Command,
  given: Given,
): Promise<void> {
  await files.write(turn, COMMAND_FILE, JSON.stringify(shownArguments(command, given)));
}

/** Command of the last turn. Null if it has not started, or was started by a version that did not save commands. */
export async function loadCommand(files: RunFiles, run: Pick<Run, 'id' | 'turn'>): Promise<string[] | null> {
  const text = await files.read({ runId: run.id, number: run.turn }, COMMAND_FILE);
  const kept = Arguments.safeParse(text === null ? null : parseJson(text));
  return kept.success ? kept.data : null;
}

/** Arguments for display, without secrets and without the prompt, which has its own file. */
export function shownArguments({ argv, env }: Pick<Command, 'argv' | 'env'>, given: Given): string[] {
  const redactor = createRedactor(secretsOf(env, given));
  return argv.map((argument, at) => {
    if (at === 0) return argument;
    if (isSecretOption(argv[at - 1]!) && !argument.startsWith('-')) return HIDDEN;
    const [option, ...value] = argument.split('=');
    if (value.length > 0 && isSecretOption(option!)) return `${option}=${HIDDEN}`;
    return cut(redactor.text(withoutPrompt(argument, given)));
  });
}

const HIDDEN = '[hidden]';

function secretsOf(env: Record<string, string>, { endpoint }: Given): Secret[] {
  const named = Object.entries(env).filter(([name]) => looksSecretName(name) && !isOrdinaryVariable(name));
  return [
    ...named.map(([name, value]) => ({ name, value })),
    ...(endpoint ? [{ name: 'token', value: endpoint.token }] : []),
  ];
}

/** An option of a user's template whose value is a secret. */
const isSecretOption = (argument: string): boolean =>
  /^--?\w[\w-]*$/.test(argument) && looksSecretName(argument);

function withoutPrompt(argument: string, { prompt, task }: Given): string {
  const plain = argument.trim();
  if (plain !== '' && plain === prompt.trim()) return '[prompt]';
  if (plain !== '' && plain === task.trim()) return '[task]';
  const rest = prompt === '' ? argument : argument.replaceAll(prompt, '[prompt]');
  return task.length < MIN_TASK_LENGTH ? rest : rest.replaceAll(task, '[task]');
}

const cut = (text: string): string =>
  text.length <= MAX_ARGUMENT_LENGTH
    ? text
    : `${truncate(text, MAX_ARGUMENT_LENGTH)} (${text.length} characters)`;
