import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import type { Call } from '../../src/wire/face/face.ts';
import { text } from './content.ts';
import type { FixtureTool } from './plain-tools.ts';

type Fields = ElicitRequestFormParams['requestedSchema']['properties'];

/** Tools that ask by a request of their own while the call is open, as only legacy clients allow. */
export const legacyAskingTools: Record<string, FixtureTool> = {
  test_sampling: async (args, call) => {
    const { content } = await call.raw.mcpReq.requestSampling(
      {
        messages: [{ role: 'user', content: { type: 'text', text: String(args.prompt) } }],
        maxTokens: 100,
      },
      inItsStream(call),
    );
    const said = 'text' in content ? content.text : JSON.stringify(content);
    return { raw: { content: [text(`LLM response: ${said}`)] } };
  },
  test_elicitation: async (args, call) => {
    const answer = await call.raw.mcpReq.elicitInput(
      {
        message: String(args.message),
        requestedSchema: {
          type: 'object',
          properties: {
            username: { type: 'string', description: "User's response" },
            email: { type: 'string', description: "User's email address" },
          },
          required: ['username', 'email'],
        },
      },
      inItsStream(call),
    );
    const words = `<action: ${answer.action}, content: ${JSON.stringify(answer.content)}>`;
    return { raw: { content: [text(`User response: ${words}`)] } };
  },
  test_elicitation_sep1034_defaults: asking('Please review these defaults', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  }),
  test_elicitation_sep1330_enums: asking('Please choose', {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  }),
};

function asking(message: string, properties: Fields): FixtureTool {
  return async (_args, call) => {
    const answer = await call.raw.mcpReq.elicitInput(
      { message, requestedSchema: { type: 'object', properties, required: [] } },
      inItsStream(call),
    );
    const words = `action=${answer.action}, content=${JSON.stringify(answer.content)}`;
    return { raw: { content: [text(`Elicitation completed: ${words}`)] } };
  };
}

/** Use the stream of the call: the listening stream of the client may not be open yet. */
const inItsStream = (call: Call) => ({ relatedRequestId: call.raw.mcpReq.id });

function titled(noun: string): { const: string; title: string }[] {
  return ['First', 'Second', 'Third'].map((order, at) => ({
    const: `value${at + 1}`,
    title: `${order} ${noun}`,
  }));
}
