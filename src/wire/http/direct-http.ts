import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Face, Peer } from '../face/face.ts';
import type { Access } from './access.ts';
import { directAnswer, isDirect } from './direct-answer.ts';
import { HttpAnswer, HttpCall } from './http-call.ts';
import type { LegacySessions } from './legacy-sessions.ts';
import { headersAgree, type PlainRequest, plainRequest } from './plain-request.ts';

/** A request whose body was read. */
export interface Asked {
  req: IncomingMessage;
  res: ServerResponse;
  access: Access;
  body: unknown;
  /** The face for a modern client. */
  modernFace(): Face;
}

export interface DirectHttpOptions {
  legacy: LegacySessions;
  openStreamMs: number;
  /** The request counts as being answered from here. */
  track(res: ServerResponse): void;
}

/** A face in use for one request, until it is released. */
interface Answerer {
  face: Face;
  peer: Peer;
  sessionId: string | null;
  leave(): void;
}

/** Plain requests over HTTP, answered past the SDK. */
export class DirectHttp {
  readonly #options: DirectHttpOptions;

  constructor(options: DirectHttpOptions) {
    this.#options = options;
  }

  /** False: this one is not for us, and nothing was done. */
  serve({ req, res, access, body, modernFace }: Asked): boolean {
    const request = plainRequest(body);
    const accepts = acceptedBy(req);
    if (!request || !headersAgree(req.headers, request)) return false;
    // Some clients of the older revisions say wrongly what they can read; the SDK tells them.
    if (request.era === 'legacy' && !accepts.json && !accepts.stream) return false;
    const answerer = request.peer
      ? modern(modernFace, request.peer)
      : this.#inSession(req.headers['mcp-session-id'], access);
    if (!answerer) return false;
    if (!isDirect(request, answerer.face)) {
      answerer.leave();
      return false;
    }
    this.#run(request, answerer, { res, access, accepts });
    return true;
  }

  #run(
    request: PlainRequest,
    { face, peer, sessionId, leave }: Answerer,
    { res, access, accepts }: { res: ServerResponse; access: Access; accepts: Accepts },
  ): void {
    this.#options.track(res);
    const answer = new HttpAnswer(res, {
      json: accepts.json || !accepts.stream,
      stream: accepts.stream,
      openStreamMs: this.#options.openStreamMs,
      headers: sessionId === null ? {} : { 'mcp-session-id': sessionId },
    });
    const onOver = () => {
      access.calls.delete(call);
      leave();
    };
    const call = new HttpCall({ request, sessionId, answer, onOver }, res);
    access.calls.add(call);
    void call.run(direct => directAnswer(request, face, peer, direct));
  }

  #inSession(sessionId: string | string[] | undefined, access: Access): Answerer | null {
    if (typeof sessionId !== 'string') return null;
    const entered = this.#options.legacy.enter(sessionId, access);
    return (
      entered && { face: entered.server.face, peer: entered.server.peer(), sessionId, leave: entered.leave }
    );
  }
}

/** A face that cannot be built is left to the SDK, which has an answer for that. */
function modern(build: () => Face, peer: Peer): Answerer | null {
  try {
    return { face: build(), peer, sessionId: null, leave: () => {} };
  } catch {
    return null;
  }
}

interface Accepts {
  json: boolean;
  stream: boolean;
}

function acceptedBy({ headers: { accept = '' } }: IncomingMessage): Accepts {
  return { json: accept.includes('application/json'), stream: accept.includes('text/event-stream') };
}
