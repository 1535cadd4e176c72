import {
  acceptedContent,
  type InputRequests,
  inputRequired,
  inputResponse,
  type RequestStateCodec,
} from '@modelcontextprotocol/server';
import type { Call, ToolResult } from '../../src/wire/face/face.ts';
import { text } from './content.ts';
import type { FixtureTool } from './plain-tools.ts';

const say = (value: string): ToolResult => ({ raw: { content: [text(value)] } });

type Field = { type: 'string' } | { type: 'boolean' };
const form = (message: string, name: string, field: Field = { type: 'string' }) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [name]: field }, required: [name] },
  });
const sample = (question: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens,
  });

const answers = (call: Call) => call.raw.mcpReq.inputResponses;
const answered = (call: Call, key: string, name: string): unknown =>
  acceptedContent<Record<string, unknown>>(answers(call), key)?.[name];
const ask = (inputRequests: InputRequests, requestState?: string): ToolResult => ({
  raw: inputRequired({ inputRequests, ...(requestState !== undefined && { requestState }) }),
});

export const askContext = (call: Call) => {
  const context = answered(call, 'user_context', 'context');
  return typeof context === 'string'
    ? context
    : inputRequired({
        inputRequests: { user_context: form('What context should the prompt use?', 'context') },
      });
};

/** Tools that answer with a question; the same code serves both eras. */
export function askingTools(state: RequestStateCodec): Record<string, FixtureTool> {
  const askName: FixtureTool = async (_args, call) => {
    const name = answered(call, 'user_name', 'name');
    return typeof name === 'string'
      ? say(`Hello, ${name}!`)
      : ask({ user_name: form('What is your name?', 'name') });
  };
  const confirm: FixtureTool = async (_args, call) => {
    const seen = call.raw.mcpReq.requestState<{ asked: string }>();
    const ok = answered(call, 'confirm', 'ok');
    if (seen?.asked === 'confirm' && ok !== undefined) return say('state-ok');
    return ask(
      { confirm: form('Please confirm', 'ok', { type: 'boolean' }) },
      await state.mint({ asked: 'confirm' }, call.raw),
    );
  };

  return {
    test_input_required_result_elicitation: askName,
    test_streaming_elicitation: askName,
    test_input_required_result_sampling: async (_args, call) => {
      const view = inputResponse(answers(call), 'capital_question');
      if (view.kind === 'sampling') return say(`The model said: ${JSON.stringify(view.result.content)}`);
      return ask({ capital_question: sample('What is the capital of France?', 100) });
    },
    test_input_required_result_list_roots: async (_args, call) => {
      const view = inputResponse(answers(call), 'client_roots');
      if (view.kind === 'roots') return say(`Roots: ${view.roots.map(root => root.uri).join(', ')}`);
      return ask({ client_roots: inputRequired.listRoots() });
    },
    test_input_required_result_request_state: confirm,
    test_input_required_result_tampered_state: confirm,
    test_input_required_result_multiple_inputs: async (_args, call) => {
      const keys = ['user_name', 'greeting', 'client_roots'];
      const complete = keys.every(key => inputResponse(answers(call), key).kind !== 'missing');
      if (complete && call.raw.mcpReq.requestState() !== undefined) return say('All three were answered.');
      return ask(
        {
          user_name: form('What is your name?', 'name'),
          greeting: sample('Generate a greeting', 50),
          client_roots: inputRequired.listRoots(),
        },
        await state.mint({ asked: 'all' }, call.raw),
      );
    },
    test_input_required_result_multi_round: async (_args, call) => {
      const seen = call.raw.mcpReq.requestState<{ round: number; name?: string }>();
      const name = answered(call, 'step1', 'name');
      const color = answered(call, 'step2', 'color');
      if (seen?.round === 2 && color !== undefined) return say(`${seen.name} likes ${color}.`);
      if (seen?.round === 1 && name !== undefined) {
        const next = await state.mint({ round: 2, name }, call.raw);
        return ask({ step2: form('Step 2: What is your favorite color?', 'color') }, next);
      }
      return ask(
        { step1: form('Step 1: What is your name?', 'name') },
        await state.mint({ round: 1 }, call.raw),
      );
    },
    test_input_required_result_capabilities: async (_args, call) => {
      const { sampling, elicitation } = call.capabilities;
      if (inputResponse(answers(call), 'greeting').kind === 'sampling') return say('Greeted.');
      return ask({
        ...(sampling && { greeting: sample('Generate a greeting', 50) }),
        ...(elicitation && { user_name: form('What is your name?', 'name') }),
      });
    },
  };
}
