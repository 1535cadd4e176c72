import type { Run } from '../../schema/run.ts';
import type { RunFiles } from '../ports/run-files.ts';
import { buildPrompt, extendPrompt } from '../roles/prompt.ts';
import type { RunMaterial } from './live-run.ts';

type TurnPromptFiles = Pick<RunFiles, 'read' | 'prepare' | 'environment'>;

/** Writes down what the next turn of a run begins with. An engine without chats is told everything once more. */
export async function prepareNextTurn(run: Run, text: string, files: TurnPromptFiles): Promise<RunMaterial> {
  const prompt =
    run.chatId === null
      ? extendPrompt((await files.read({ runId: run.id, number: 1 }, 'prompt.md')) ?? run.task, text)
      : buildPrompt({ roleBody: '', task: text, mode: 'continued' });
  const { promptFile } = await files.prepare({ runId: run.id, number: run.turn + 1 }, prompt);
  return { prompt, promptFile, env: await files.environment(run.id) };
}
