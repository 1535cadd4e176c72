import { createOpenAI } from '@ai-sdk/openai';
import type { MakeModel } from './provider.ts';

export const responsesModel: MakeModel = ({ id, ...settings }) => createOpenAI(settings).responses(id);
export const chatModel: MakeModel = ({ id, ...settings }) => createOpenAI(settings).chat(id);
