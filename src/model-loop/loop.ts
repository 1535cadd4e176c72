import type { AgentRequest } from '../schema/agent-request.ts';
import type { TracePart } from '../schema/conversation.ts';
import type { Conversation } from './conversation.ts';
import { Ending } from './ending.ts';
import { FINAL_ANSWER, finalAnswerTool, onlyFinalCall } from './final-answer.ts';
import { type ModelCall, type ModelQuestion, type ModelTurn, modelTurn } from './model-turn.ts';
import type { Say } from './print-line.ts';
import { runCall } from './run-call.ts';
import { saying, type Tool } from './tool.ts';
import type { Toolbox } from './tools.ts';
import type { UsageTotal } from './usage-total.ts';

export interface Talk {
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
