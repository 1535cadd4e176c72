import { createAnthropic } from '@ai-sdk/anthropic';
import type { MakeModel } from './provider.ts';

export const anthropicModel: MakeModel = ({ id, ...settings }) => createAnthropic(settings)(id);
