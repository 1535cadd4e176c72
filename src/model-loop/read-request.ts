import { readFile, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { AGENT_REQUEST_FILE, AgentRequest } from '../schema/agent-request.ts';
import { Ending } from './ending.ts';

/** Read once, and gone: it holds the run's token, and values of variables of its model. Nothing of it is ever quoted. */
export async function readRequest(file: string): Promise<AgentRequest> {
  let request: AgentRequest | null = null;
  try {
    request = requestIn(await readFile(file, 'utf8'));
    return request;
  } catch (thrown) {
    throw new Ending('ENGINE_FAILED', `The request in ${file} cannot be read: ${(thrown as Error).message}`);
  } finally {
    // Somebody may have named a file of his own by mistake.
    if (request !== null || basename(file) === AGENT_REQUEST_FILE) await rm(file, { force: true });
  }
}

function requestIn(text: string): AgentRequest {
  const { success, data, error } = AgentRequest.safeParse(valueIn(text));
  if (success) return data;
  const wrong = new Set(error.issues.map(({ path }) => String(path[0] ?? '')));
  throw new Error(wrong.has('') ? 'it is not an object' : `it has no right ${[...wrong].join(', ')}`);
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}
