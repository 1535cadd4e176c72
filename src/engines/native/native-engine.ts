import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { modelSecrets } from '../../core/gateway/secrets.ts';
import type { Engine, TurnInput } from '../../core/ports/engine.ts';
import { isSubagentCall } from '../../core/subagents/plan-subagent.ts';
import { AGENT_REQUEST_FILE, type AgentRequest } from '../../schema/agent-protocol.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { newChatId } from '../../schema/ids.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import { agentLineReader } from './agent-line-reader.ts';
import { filledModel, isVariableOf } from './filled-model.ts';
import { nativePolicy } from './native-policy.ts';
import { needsProviderVariable, orderedModel } from './ordered-model.ts';

export interface NativeSurroundings {
  node: string;
  agentScript: string;
  /** Where Node keeps what it compiled: half of the agent's start is compiling. */
  compileCache: string;
}

type NativeSpec = Omit<Extract<EngineSpec, { kind: 'native' }>, 'kind'>;

/** An ordinary run may go on for long; its time and its budget end it. */
const MAX_TURNS = 200;

/** Squad's own agent: a model and the tools of MCP servers, with nothing of its own on the machine. */
export function createNativeEngine(
  { node, agentScript, compileCache }: NativeSurroundings,
  { subagent, inputs }: NativeSpec,
): Engine {
  return {
    id: 'native',
    reader: () => ({ line: agentLineReader(subagent?.model.prices ?? null) }),
    policy: nativePolicy,
    loadsItself: [],
    // A subagent without servers has nobody to call.
    wantsEndpoint: subagent === null || subagent.servers !== null,
    needsVariable: name => (subagent === null ? needsProviderVariable(name) : isOf(subagent.model, name)),
    takesSchema: true,
    usageIsReported: 'live',
    newChat: { kind: 'minted', mint: newChatId },
    interactive: null,
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
