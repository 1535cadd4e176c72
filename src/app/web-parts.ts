import { join } from 'node:path';
import { z } from 'zod';
import type { Caller } from '../core/ports/workspace.ts';
import type { WebFace } from '../http/serve.ts';
import { dispatch } from '../operations/dispatch.ts';
import { OPERATIONS } from '../operations/operations.ts';
import type { exportRun } from '../operations/output/export-run.ts';
import { composeSavedPage, savedName } from '../operations/output/saved-page.ts';
import { cardsOf, touchedRuns } from '../operations/runs/run-card.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { ClientMessage } from '../schema/live.ts';
import { BEAT_MS, SILENT_MS } from '../schema/web-ui.ts';
import type { WebPorts } from '../web-server/ports.ts';
import type { WebServer } from '../web-server/serve-web.ts';

/**
 * Adds a hint to an error in the web UI. The web UI uses the environment of the terminal that opened it, so an engine
 * that is missing there may be found from another terminal.
 */
export function withWebHint(thrown: unknown, { client }: Pick<Caller, 'client'>): unknown {
  if (client !== 'page' || !(thrown instanceof SquadError) || thrown.code !== 'ENGINE_NOT_SET') return thrown;
  return new SquadError(thrown.code, thrown.message, {
    suggestions: [
      'Run `squad open` in your terminal: the web UI then uses the environment of that terminal.',
      ...(thrown.toShape().suggestions ?? []),
    ],
    cause: thrown,
  });
}

export interface LazyWebUi extends WebFace {
  key(host: string): Promise<string>;
}

/** The server of the web UI, loaded at the first request. */
export function lazyWebUi(
  ports: Pick<
    WebPorts,
    'services' | 'callerOf' | 'sessions' | 'version' | 'onInFlight' | 'log' | 'isOwnPeer'
  > & {
    programs: string;
  },
): LazyWebUi {
  let loading: Promise<WebServer> | null = null;
  const webServer = () => {
    loading ??= import('../web-server/serve-web.ts').then(({ serveWeb }) =>
      serveWeb(
        {
          ...ports,
          operations: OPERATIONS,
          dispatch: async (operation, input, call) => {
            try {
              return await dispatch(operation, input, call);
            } catch (thrown) {
              throw withWebHint(thrown, call.caller);
            }
          },
          errorOf: thrown => asSquadError(thrown).toShape(),
          schemaOf,
          parseMessage: message => ClientMessage.safeParse(message).data ?? null,
          touchedRuns: events => touchedRuns(ports.services, events),
          cardsOf: runs => cardsOf(ports.services, runs),
          savedRun: async data => {
            const saved = data as z.output<typeof exportRun.output>;
            const page = await composeSavedPage(saved, join(ports.programs, 'web-saved'));
            return { name: savedName(saved.run), page };
          },
          webFolder: join(ports.programs, 'web'),
          maxBodyBytes: MAX_BODY_BYTES,
        },
        LIVE_TIMES,
      ),
    );
    return loading;
  };
  return {
    handle: async (...asked) => (await webServer()).handle(...asked),
    upgrade: async (...asked) => (await webServer()).upgrade(...asked),
    key: async host => (await webServer()).key(host),
    close: async () => (await loading)?.close(),
  };
}

const LIVE_TIMES = { flushMs: 50, beatMs: BEAT_MS, silentMs: SILENT_MS, lookMs: 200 };

/** Same limit as for an MCP message. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

function schemaOf(type: z.ZodType, io: 'input' | 'output') {
  const { $schema, ...schema } = z.toJSONSchema(type, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema: node }) => {
      // A later version may add fields to an answer, and a client that validates answers must accept them.
      if (io === 'output') delete node.additionalProperties;
    },
  });
  return schema;
}
