import { createGoogle } from '@ai-sdk/google';
import type { MakeModel } from './provider.ts';

export const googleModel: MakeModel = ({ id, ...settings }) => createGoogle(settings)(id);
