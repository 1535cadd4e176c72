import type { AgentRequest } from '../schema/agent-protocol.ts';
import type { TracePart } from '../schema/conversation.ts';
import type { Conversation } from './conversation.ts';
import { Ending } from './ending.ts';
import { type ModelCall, type ModelQuestion, type ModelTurn, modelTurn } from './model-turn.ts';
import type { Say } from './output-lines.ts';
import { answerText, type CallTelling, saying, type Tool, type ToolAnswer } from './tool.ts';
import type { Toolbox } from './tools.ts';
import type { UsageTotal } from './usage-total.ts';

const FINAL_ANSWER = 'final_answer';

/** What the model ends with when its answer has a form. Called as a tool, which is beside others, it refuses. */
const finalAnswerTool = (outputSchema: Record<string, unknown>): Tool => ({
  name: FINAL_ANSWER,
  description:
    'Gives the final answer and ends this conversation: its arguments are the answer. Call it once, when the results of everything else are here. It must be the only call of its turn; beside other calls it is refused.',
  inputSchema: outputSchema,
  call: async () => saying(false, NOT_ALONE),
});

const NOT_ALONE = `Not taken: ${FINAL_ANSWER} must be the only call of its turn. The results of the other calls are here; when you have read them, call it again, alone.`;

/**
 * The call that ends it; null while the model goes on. Beside another call it ends nothing: what that brings was not known when the
 * answer was written, and of two answers nobody knows which is meant.
 */
function onlyFinalCall(calls: readonly ModelCall[]): ModelCall | null {
  const [first, ...others] = calls;
  return first?.name === FINAL_ANSWER && others.length === 0 ? first : null;
}

/** Does what the model asked for. A call that cannot be made is answered with why, and the model goes on. */
async function runCall(
  { id, name, input, problem }: ModelCall,
  tools: readonly Tool[],
  signal: AbortSignal,
  { say, trace }: Omit<CallTelling, 'id'>,
): Promise<ToolAnswer> {
  say({ type: 'tool', id, name, detail: typeof input === 'string' ? input : JSON.stringify(input) });
  const answer = await answerOf();
  say({ type: 'tool_end', id, name, ok: answer.ok, detail: answerText(answer) });
  return answer;

  async function answerOf(): Promise<ToolAnswer> {
    const tool = tools.find(offered => offered.name === name);
    if (!tool) return saying(false, `There is no tool ${JSON.stringify(name)}. There is: ${namesOf(tools)}.`);
    if (problem !== null) return saying(false, problem);
    try {
      return await tool.call(input as Record<string, unknown>, signal, { id, say, trace });
    } catch (thrown) {
      signal.throwIfAborted();
      return saying(false, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
}

const namesOf = (tools: readonly Tool[]): string => tools.map(({ name }) => name).join(', ') || 'none';

interface Talk {
  request: AgentRequest;
  conversation: Conversation;
  toolbox: Pick<Toolbox, 'tools' | 'prepare'>;
  usage: UsageTotal;
  /** Everything but the messages and the tools. */
  question: Omit<ModelQuestion, 'messages' | 'tools'>;
  /** Makes of what the model's side threw what is told. */
  refusal(thrown: unknown): unknown;
  say: Say;
}

export interface Answer {
  /** Empty where it is a value. */
  answer: string;
  structured?: unknown;
}

/** Asks the model, does what it asks for, and asks again, until it is done or may not go on. */
export async function converse(talk: Talk): Promise<Answer> {
  const { request, conversation } = talk;
  for (let turn = 1; ; turn++) {
    const tools = toolsOf(talk);
    const asking = askOnce(talk, tools);
    // What the last model turn calls for is not run.
    if (turn < request.maxTurns) talk.toolbox.prepare();
    const { text, calls } = await asking;
    const final = request.outputSchema === null ? null : onlyFinalCall(calls);
    if (final) return finish(talk, final);
    if (calls.length === 0) {
      await conversation.save();
      if (request.outputSchema !== null)
        throw new Ending('OUTPUT_MISMATCH', `The model ended without calling ${FINAL_ANSWER}`);
      return { answer: text };
    }
    if (turn >= request.maxTurns) {
      const answer = saying(false, 'Not run: the limit of model turns is reached.');
      conversation.tools(calls.map(call => ({ call, answer })));
      await conversation.save();
      throw new Ending('TURN_LIMIT', tooMany(request.maxTurns));
    }
    const { question, say } = talk;
    const telling = { say, trace: (parts: TracePart[]) => conversation.program(parts) };
    const answers = await Promise.all(
      calls.map(async call => ({
        call,
        answer: await runCall(call, tools, question.signal, telling),
      })),
    );
    question.signal.throwIfAborted();
    conversation.tools(answers);
    await conversation.save();
  }
}

const toolsOf = ({ request: { outputSchema }, toolbox: { tools } }: Talk): readonly Tool[] =>
  outputSchema === null ? tools : [...tools, finalAnswerTool(outputSchema)];

async function askOnce(
  { conversation, question, usage, refusal, say }: Talk,
  tools: readonly Tool[],
): Promise<ModelTurn> {
  try {
    const said = await modelTurn({ ...question, messages: conversation.messages, tools });
    conversation.assistant(said.message, said.calls);
    const wasPartial = usage.isPartial;
    usage.add(said.usage);
    if (usage.isPartial && !wasPartial) say({ type: 'note', text: PARTIAL });
    say({ type: 'usage', ...usage.figures });
    return said;
  } catch (thrown) {
    throw refusal(thrown);
  }
}

async function finish({ conversation }: Talk, final: ModelCall): Promise<Answer> {
  const { problem, input } = final;
  const answer = problem === null ? saying(true, 'Given as the answer.') : saying(false, problem);
  conversation.tools([{ call: final, answer }]);
  await conversation.save();
  if (problem !== null)
    throw new Ending(
      'OUTPUT_MISMATCH',
      `The model called ${FINAL_ANSWER} with something that is no answer: ${problem}`,
    );
  return { answer: '', structured: input };
}

const PARTIAL =
  'The provider said for some answers what they used and for others not: those figures of this run are not known.';

const tooMany = (most: number): string =>
  `The model was asked ${most} ${most === 1 ? 'time' : 'times'}, which is the limit (maxTurns), and was not done`;
