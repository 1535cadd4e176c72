import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { modelSecrets } from '../../core/gateway/secrets.ts';
import type { Engine, TurnInput } from '../../core/ports/engine.ts';
import { isSubagentCall } from '../../core/subagents/plan-subagent.ts';
import { programFolders } from '../../process/programs/program-folders.ts';
import { AGENT_REQUEST_FILE, type AgentRequest } from '../../schema/agent-protocol.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { newChatId } from '../../schema/ids.ts';
import { type ModelSpec, ModelType } from '../../schema/model-spec.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { keyVariable, MODEL_PROVIDERS } from '../../schema/subagent-names.ts';
import { held } from '../policy-rules.ts';
import { hostsIn } from '../sandbox-needs.ts';
import { agentLineReader } from './agent-line-reader.ts';
import { filledModel, isVariableOf } from './filled-model.ts';

export interface NativeSurroundings {
  node: string;
  agentScript: string;
  /** Folder of Node's compile cache. Compilation takes half of the agent's start time. */
  compileCache: string;
}

type NativeSpec = Omit<Extract<EngineSpec, { kind: 'native' }>, 'kind'>;

/** Maximum model turns of a run. It is high, because the run's timeout and budget limit a run first. */
const MAX_TURNS = 200;

/** Squad's own agent: a model with the tools of MCP servers and no tools of its own. */
export function createNativeEngine(
  { node, agentScript, compileCache }: NativeSurroundings,
  { subagent, inputs }: NativeSpec,
): Engine {
  return {
    id: 'native',
    reader: () => ({ line: agentLineReader(subagent?.model.prices ?? null) }),
    policy: nativePolicy,
    loadsItself: [],
    // A subagent without MCP servers has no tools, so it needs no endpoint.
    wantsEndpoint: subagent === null || subagent.servers !== null,
    needsVariable: name => (subagent === null ? needsProviderVariable(name) : isOf(subagent.model, name)),
    takesSchema: true,
    usageIsReported: 'live',
    newChat: { kind: 'minted', mint: newChatId },
    interactive: null,
    sandbox: ({ env, model }) => ({
      programs: [...programFolders(node, env), dirname(agentScript), compileCache],
      login: [],
      drops: [],
      writes: [],
      hosts: hostsIn(addressesOf(subagent?.model ?? orderedModel(model, null, env), env)),
    }),
    sandboxLimit: subagent?.codeMode
      ? { kind: 'never', reason: 'code mode has a sandbox of its own, which cannot run in another' }
      : null,
    async command(input) {
      const chatFile = join(input.files.chatFolder, 'chat.jsonl');
      if (input.continues && !existsSync(chatFile)) throw unknownChat(input.chatId);
      const model = subagent?.model ?? orderedModel(input.model, input.options.effort, input.env);
      refuseWithoutKey(model, input.env);
      const request: AgentRequest = {
        model: filledModel(model, input.env),
        secrets: modelSecrets(model, input.env),
        systemPrompt: subagent?.systemPrompt ?? null,
        inputs: input.continues ? [] : inputs,
        outputSchema: input.options.outputSchema,
        codeMode: subagent?.codeMode ?? null,
        maxTurns: subagent?.maxTurns ?? MAX_TURNS,
        endpoint: endpointOf(input),
        endsWithHub: isSubagentCall(input),
        chatFile,
        continues: input.continues,
      };
      const file = await input.files.write(AGENT_REQUEST_FILE, JSON.stringify(request));
      const env = { NODE_COMPILE_CACHE: compileCache, ...input.env };
      return { argv: [node, agentScript, file], stdin: input.promptFile, env };
    },
  };
}

const addressesOf = (model: ModelSpec, env: Record<string, string>): string[] => {
  const { address, addressVariables } = MODEL_PROVIDERS[model.type];
  const named = addressVariables.flatMap(name => env[name] ?? []);
  return [filledModel(model, env).baseUrl ?? named[0] ?? address];
};

const endpointOf = ({ endpoint }: TurnInput): AgentRequest['endpoint'] =>
  endpoint && { url: endpoint.url, token: endpoint.token };

const isOf = (model: ModelSpec, name: string): boolean =>
  name === model.apiKeyEnv || isVariableOf(model, name) || needsProviderVariable(name, model.type);

function refuseWithoutKey({ id, apiKeyEnv }: ModelSpec, env: Record<string, string>): void {
  if (apiKeyEnv === null || env[apiKeyEnv]) return;
  throw new SquadError(
    'API_KEY_MISSING',
    `The model ${id} needs an API key in ${apiKeyEnv}, which is not set where Squad was called`,
    { suggestions: [`Set ${apiKeyEnv} in the environment of your shell or your MCP client, and try again.`] },
  );
}

const unknownChat = (chatId: string | null) =>
  new SquadError(
    'CHAT_UNKNOWN',
    `The native engine has no chat ${JSON.stringify(chatId?.slice(0, 100).toWellFormed())}`,
    { suggestions: ['Leave chatId out to open a new chat.'] },
  );

const NOTHING = 'it has no tools of its own, only those of MCP servers, which Squad holds';

/** Squad's own agent has no shell and no file tools, so there is little to restrict. Squad enforces the budget. */
export function nativePolicy({ permission, tools, outputSchema, effort }: RunOptions): PolicyRule[] {
  return [
    ...(permission === 'full' ? [] : [{ rule: `permission: ${permission}`, ...held(NOTHING) }]),
    ...(tools === null ? [] : [{ rule: `tools: ${tools.join(', ') || 'none'}`, ...held(NOTHING) }]),
    ...(outputSchema === null ? [] : [{ rule: 'output_schema', ...held() }]),
    ...(effort === null ? [] : [{ rule: `effort: ${effort}`, ...held() }]),
  ];
}

/**
 * Whether a provider needs this variable. With `type` it is only checked whether the variable is that provider's
 * address, because the key is configured elsewhere.
 */
export function needsProviderVariable(name: string, type?: ModelType): boolean {
  if (type !== undefined) return MODEL_PROVIDERS[type].addressVariables.includes(name);
  return Object.values(MODEL_PROVIDERS).some(({ keyVariables, addressVariables }) =>
    [...keyVariables, ...addressVariables].includes(name),
  );
}

/** Parses the model of an ordinary run, in the form `provider/model`. */
export function orderedModel(
  asked: string | null,
  effort: string | null,
  env: Record<string, string>,
): ModelSpec {
  const [provider = '', ...rest] = (asked ?? '').split('/');
  const type = ModelType.safeParse(provider);
  const id = rest.join('/');
  if (!type.success || id.trim() === '') throw notSet(asked);
  return {
    type: type.data,
    id,
    baseUrl: null,
    apiKeyEnv: keyVariable(type.data, env),
    headers: {},
    generation: effort === null ? {} : { thinking: effort },
    prices: null,
  };
}

const notSet = (asked: string | null): SquadError =>
  new SquadError(
    'MODEL_NOT_SET',
    asked === null
      ? 'The native engine needs a model, and none was chosen'
      : `The native engine has no model ${JSON.stringify(asked.slice(0, 100).toWellFormed())}: use provider/model`,
    {
      suggestions: [
        `Set it with --model or in the role: ${ModelType.options.map(type => `${type}/…`).join(', ')}. openai/… uses OpenAI's chat completions API, responses/… its Responses API.`,
      ],
    },
  );
