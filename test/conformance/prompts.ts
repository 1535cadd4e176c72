import type { ContentBlock, GetPromptResult } from '@modelcontextprotocol/server';
import type { Face } from '../../src/wire/face/face.ts';
import { askContext } from './asking-tools.ts';
import { embedded, image, text } from './content.ts';

export const prompts: NonNullable<Face['prompts']> = {
  mayChange: true,
  list: async () => [
    { name: 'test_simple_prompt', description: 'Simple' },
    {
      name: 'test_prompt_with_arguments',
      description: 'With arguments',
      arguments: [
        { name: 'arg1', description: 'First test argument', required: true },
        { name: 'arg2', description: 'Second test argument', required: true },
      ],
    },
    {
      name: 'test_prompt_with_embedded_resource',
      description: 'With a resource',
      arguments: [{ name: 'resourceUri', description: 'What to embed', required: true }],
    },
    { name: 'test_prompt_with_image', description: 'With an image' },
    { name: 'test_input_required_result_prompt', description: 'Asks first' },
  ],
  get: async (name, args, call) => {
    switch (name) {
      case 'test_simple_prompt':
        return user(text('This is a simple prompt for testing.'));
      case 'test_prompt_with_arguments':
        return user(text(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`));
      case 'test_prompt_with_embedded_resource':
        return user(
          embedded(args.resourceUri ?? '', 'text/plain', 'Embedded resource content for testing.'),
          text('Please process the embedded resource above.'),
        );
      case 'test_prompt_with_image':
        return user(image(), text('Please analyze the image above.'));
      case 'test_input_required_result_prompt': {
        const context = askContext(call);
        return typeof context === 'string' ? user(text(`Use this context: ${context}`)) : context;
      }
      default:
        return null;
    }
  },
};

function user(...contents: ContentBlock[]): GetPromptResult {
  return { messages: contents.map(content => ({ role: 'user', content })) };
}
