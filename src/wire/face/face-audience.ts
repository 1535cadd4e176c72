import type { Audience } from './face.ts';
import type { FaceServer } from './face-server.ts';

/** The one client a server talks to. What cannot be delivered is lost: notices say that there is news, never the news. */
export function audienceOf(server: FaceServer): Audience {
  const isModern = () => server.era === 'modern';
  /** Before the handshake nobody is there to listen; modern clients say in their own stream what they listen to. */
  const tell = (wanted: boolean | undefined, notice: () => Promise<void>) => {
    if (wanted && (isModern() || server.getClientVersion())) notice().catch(() => {});
  };
  return {
    notices: {
      toolsChanged: () => tell(server.face.tools.mayChange, () => server.sendToolListChanged()),
      promptsChanged: () => tell(server.face.prompts?.mayChange, () => server.sendPromptListChanged()),
      resourcesChanged: () => tell(server.face.resources?.mayChange, () => server.sendResourceListChanged()),
      resourceUpdated: uri =>
        tell(server.face.resources?.watchable && (isModern() || server.watched.has(uri)), () =>
          server.sendResourceUpdated({ uri }),
        ),
    },
    log: message =>
      // The SDK keeps the level a client chose under the id of its session.
      tell(!isModern(), () => server.sendLoggingMessage(message, server.transport?.sessionId)),
  };
}

/** Everybody who is there when something is said. */
export function everyone(present: () => Iterable<Audience>): Audience {
  const all = (tell: (audience: Audience) => void) => {
    for (const audience of present()) tell(audience);
  };
  return {
    notices: {
      toolsChanged: () => all(({ notices }) => notices.toolsChanged()),
      promptsChanged: () => all(({ notices }) => notices.promptsChanged()),
      resourcesChanged: () => all(({ notices }) => notices.resourcesChanged()),
      resourceUpdated: uri => all(({ notices }) => notices.resourceUpdated(uri)),
    },
    log: message => all(audience => audience.log(message)),
  };
}
