import type { AgentRequest } from '../schema/agent-protocol.ts';
import type { TracePart } from '../schema/conversation.ts';
import { AgentError } from './agent-error.ts';
import type { Conversation } from './conversation.ts';
import { type ModelCall, type ModelRequest, type ModelTurn, modelTurn } from './model-turn.ts';
import type { Emit } from './output-lines.ts';
import { answerText, type CallReporter, type Tool, type ToolAnswer, textAnswer } from './tool.ts';
import type { Toolbox } from './toolbox.ts';
import type { UsageTotal } from './usage-total.ts';

const FINAL_ANSWER = 'final_answer';

/** Offered when the answer must match a schema. `call` runs only when the model called it together with other tools, so it refuses. */
const finalAnswerTool = (outputSchema: Record<string, unknown>): Tool => ({
  name: FINAL_ANSWER,
  description:
    'Gives the final answer and ends the conversation: its arguments are the answer. Call it once, after you have the results of all other calls. It must be the only call of its turn; together with other calls it is refused.',
  inputSchema: outputSchema,
  call: async () => textAnswer(false, NOT_ALONE),
});

const NOT_ALONE = `Refused: ${FINAL_ANSWER} must be the only call of its turn. Read the results of the other calls, then call it again, alone.`;

/**
 * The call that ends the conversation, or null. Together with another call it ends nothing: the model wrote the answer before it
 * knew the other call's result, and of two answers it is unclear which one counts.
 */
function onlyFinalCall(calls: readonly ModelCall[]): ModelCall | null {
  const [first, ...others] = calls;
  return first?.name === FINAL_ANSWER && others.length === 0 ? first : null;
}

/** Runs one tool call. If the call is not possible, the answer says why, and the model continues. */
async function runCall(
  { id, name, input, problem }: ModelCall,
  tools: readonly Tool[],
  signal: AbortSignal,
  { emit, trace }: Omit<CallReporter, 'id'>,
): Promise<ToolAnswer> {
  emit({ type: 'tool', id, name, detail: typeof input === 'string' ? input : JSON.stringify(input) });
  const answer = await answerOf();
  emit({ type: 'tool_end', id, name, ok: answer.ok, detail: answerText(answer) });
  return answer;

  async function answerOf(): Promise<ToolAnswer> {
    const tool = tools.find(offered => offered.name === name);
    if (!tool)
      return textAnswer(false, `Unknown tool ${JSON.stringify(name)}. Available: ${namesOf(tools)}.`);
    if (problem !== null) return textAnswer(false, problem);
    try {
      return await tool.call(input as Record<string, unknown>, signal, { id, emit, trace });
    } catch (thrown) {
      signal.throwIfAborted();
      return textAnswer(false, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
}

const namesOf = (tools: readonly Tool[]): string => tools.map(({ name }) => name).join(', ') || 'none';

interface LoopOptions {
  request: AgentRequest;
  conversation: Conversation;
  toolbox: Pick<Toolbox, 'tools' | 'prepare'>;
  usage: UsageTotal;
  question: Omit<ModelRequest, 'messages' | 'tools'>;
  /** Turns what the SDK or the provider threw into the error to report. */
  toError(thrown: unknown): unknown;
  emit: Emit;
}

export interface Answer {
  /** Empty if the answer is `structured`. */
  answer: string;
  structured?: unknown;
}

/** Asks the model, runs the tools it calls and asks again, until it answers or reaches a limit. */
export async function converse(options: LoopOptions): Promise<Answer> {
  const { request, conversation } = options;
  for (let turn = 1; ; turn++) {
    const tools = toolsOf(options);
    const asking = askOnce(options, tools);
    // Calls of the last model turn are not run.
    if (turn < request.maxTurns) options.toolbox.prepare();
    const { text, calls } = await asking;
    const final = request.outputSchema === null ? null : onlyFinalCall(calls);
    if (final) return finish(options, final);
    if (calls.length === 0) {
      await conversation.save();
      if (request.outputSchema !== null)
        throw new AgentError(
          'OUTPUT_MISMATCH',
          `The model ended the conversation without calling ${FINAL_ANSWER}`,
        );
      return { answer: text };
    }
    if (turn >= request.maxTurns) {
      const answer = textAnswer(false, 'Not run: the model turn limit is reached.');
      conversation.tools(calls.map(call => ({ call, answer })));
      await conversation.save();
      throw new AgentError('TURN_LIMIT', tooMany(request.maxTurns));
    }
    const { question, emit } = options;
    const reporter = { emit, trace: (parts: TracePart[]) => conversation.program(parts) };
    const answers = await Promise.all(
      calls.map(async call => ({
        call,
        answer: await runCall(call, tools, question.signal, reporter),
      })),
    );
    question.signal.throwIfAborted();
    conversation.tools(answers);
    await conversation.save();
  }
}

const toolsOf = ({ request: { outputSchema }, toolbox: { tools } }: LoopOptions): readonly Tool[] =>
  outputSchema === null ? tools : [...tools, finalAnswerTool(outputSchema)];

async function askOnce(
  { conversation, question, usage, toError, emit }: LoopOptions,
  tools: readonly Tool[],
): Promise<ModelTurn> {
  try {
    const said = await modelTurn({ ...question, messages: conversation.messages, tools });
    conversation.assistant(said.message, said.calls);
    const wasPartial = usage.isPartial;
    usage.add(said.usage);
    if (usage.isPartial && !wasPartial) emit({ type: 'note', text: PARTIAL });
    emit({ type: 'usage', ...usage.figures });
    return said;
  } catch (thrown) {
    throw toError(thrown);
  }
}

async function finish({ conversation }: LoopOptions, final: ModelCall): Promise<Answer> {
  const { problem, input } = final;
  const answer = problem === null ? textAnswer(true, 'Accepted as the answer.') : textAnswer(false, problem);
  conversation.tools([{ call: final, answer }]);
  await conversation.save();
  if (problem !== null)
    throw new AgentError(
      'OUTPUT_MISMATCH',
      `The model called ${FINAL_ANSWER} with an invalid answer: ${problem}`,
    );
  return { answer: '', structured: input };
}

const PARTIAL =
  'The provider reported usage for some answers only, so the totals it left out are unknown for this run.';

const tooMany = (most: number): string =>
  `The model did not finish within ${most} model ${most === 1 ? 'turn' : 'turns'}, which is the limit (maxTurns)`;
