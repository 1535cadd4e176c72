import { isAbsolute } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  type AgentContext,
  agent,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type SessionConfigOption,
  type SessionModeState,
} from '@agentclientprotocol/sdk';
import { visibleLine } from '../base/text.ts';
import { version } from '../link/program.ts';
import { asSquadError } from '../schema/error.ts';
import { newRunId, RunId } from '../schema/ids.ts';
import { PERMISSION_TEXT } from '../schema/permission-text.ts';
import { Thread, type ThreadSetting } from './thread.ts';
import { ThreadHub } from './thread-hub.ts';
import { editorServer, promptText } from './updates.ts';

/** Session modes: what the agent may do. `role` is what its role says. */
const MODES: Record<string, { name: string; description: string; rights: ThreadSetting['rights'] }> = {
  role: { name: 'As the role says', description: 'The permission of the role (default: edit)', rights: null },
  read: {
    name: 'Read',
    description: PERMISSION_TEXT.read,
    rights: { permission: 'read', approvals: 'deny' },
  },
  ask: {
    name: 'Ask',
    description: 'ask before an action that is not always allowed, if its engine can',
    rights: { permission: 'edit', approvals: 'ask' },
  },
  edit: {
    name: 'Edit',
    description: PERMISSION_TEXT.edit,
    rights: { permission: 'edit', approvals: 'deny' },
  },
  full: {
    name: 'Full',
    description: PERMISSION_TEXT.full,
    rights: { permission: 'full', approvals: 'deny' },
  },
};

const ROLE = 'role';
const NO_ROLE = 'none';
const DEFAULT_ROLE = 'coder';
const MAX_CLIENT_LENGTH = 60;
const THREADS_AT_ONCE = 200;

interface Session {
  thread: Thread;
  hub: ThreadHub;
  modeId: string;
  roles: { id: string; name: string; description: string }[];
}

/** Serves one editor over standard input and output, until it closes them. */
export async function serveAcp(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<void> {
  const sessions = new Map<string, Session>();
  let editor: string | null = null;

  const sessionOf = (id: string): Session => {
    const session = sessions.get(id);
    if (session) return session;
    throw RequestError.invalidParams(
      { sessionId: id },
      `There is no session ${visibleLine(id)}: load it first`,
    );
  };

  const openSession = async (
    id: RunId,
    { cwd, mcpServers }: { cwd: string; mcpServers?: Parameters<typeof editorServer>[0][] },
    client: AgentContext,
  ): Promise<Session> => {
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, 'cwd must be an absolute path');
    const hub = new ThreadHub(cwd, editor);
    const { roles } = await hub.call('list_roles', {});
    const known = roles.map(role => role.id);
    const roleId = known.includes(DEFAULT_ROLE) ? DEFAULT_ROLE : known.length === 1 ? known[0]! : null;
    const servers = (mcpServers ?? []).map(editorServer);
    const thread = new Thread(id, { roleId, rights: null }, { hub, client, servers });
    return { ...{ thread, hub, roles }, modeId: ROLE };
  };

  const stateOf = ({ thread, modeId, roles }: Session) => ({
    modes: modesAt(modeId),
    configOptions: [roleOption(thread.setting.roleId, roles)],
  });

  const load = async (
    id: string,
    params: Parameters<typeof openSession>[1],
    client: AgentContext,
    isReplayed: boolean,
  ) => {
    const parsed = RunId.safeParse(id);
    if (!parsed.success)
      throw RequestError.invalidParams({ sessionId: id }, `There is no session ${visibleLine(id)}`);
    const session = await openSession(parsed.data, params, client);
    sessions.get(id)?.thread.close();
    sessions.set(id, session);
    try {
      await session.thread.load(isReplayed);
    } catch (thrown) {
      sessions.delete(id);
      throw thrown;
    }
    return stateOf(session);
  };

  const app = agent({ name: 'squad' })
    .onRequest(methods.agent.initialize, ({ params: { clientInfo } }) => {
      const name = clientInfo ? visibleLine(clientInfo.name).slice(0, MAX_CLIENT_LENGTH).trim() : '';
      editor = name === '' ? null : name;
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'squad', title: 'Squad', version },
        authMethods: [],
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { embeddedContext: true },
          mcpCapabilities: { http: true, sse: true },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
      };
    })
    .onRequest(methods.agent.session.new, ({ params, client }) =>
      answered(async () => {
        const id = newRunId();
        const session = await openSession(id, params, client);
        session.hub.release();
        sessions.set(id, session);
        return { sessionId: id, ...stateOf(session) };
      }),
    )
    .onRequest(methods.agent.session.load, ({ params, client }) =>
      answered(() => load(params.sessionId, params, client, true)),
    )
    .onRequest(methods.agent.session.resume, ({ params, client }) =>
      answered(() => load(params.sessionId, params, client, false)),
    )
    .onRequest(methods.agent.session.list, ({ params: { cwd, cursor } }) =>
      answered(async () => {
        const before = cursor ? Number(cursor) : undefined;
        if (before !== undefined && !Number.isFinite(before))
          throw RequestError.invalidParams({ cursor }, 'Invalid cursor: this agent did not send it');
        const hub = new ThreadHub(cwd ?? process.cwd(), editor);
        try {
          const { threads, next } = await hub.call('list_threads', {
            ...{ before, limit: THREADS_AT_ONCE, everywhere: !cwd },
          });
          return {
            sessions: threads.map(({ thread, title, workspace, updatedAt }) => ({
              ...{ sessionId: thread, cwd: workspace, title, updatedAt: new Date(updatedAt).toISOString() },
            })),
            ...(next !== null && { nextCursor: String(next) }),
          };
        } finally {
          hub.release();
        }
      }),
    )
    .onRequest(methods.agent.session.close, ({ params: { sessionId } }) =>
      answered(async () => {
        const { thread } = sessionOf(sessionId);
        await thread.cancel();
        thread.close();
        sessions.delete(sessionId);
        return {};
      }),
    )
    .onRequest(methods.agent.session.setMode, ({ params: { sessionId, modeId } }) =>
      answered(async () => {
        const session = sessionOf(sessionId);
        const mode = Object.hasOwn(MODES, modeId) ? MODES[modeId]! : null;
        if (mode === null)
          throw RequestError.invalidParams({ modeId }, `There is no mode ${visibleLine(modeId)}`);
        session.modeId = modeId;
        session.thread.setting = { ...session.thread.setting, rights: mode.rights };
        return {};
      }),
    )
    .onRequest(methods.agent.session.setConfigOption, ({ params }) =>
      answered(async () => {
        const { sessionId, configId, value } = params;
        const session = sessionOf(sessionId);
        const { thread, roles } = session;
        if (configId !== ROLE || typeof value !== 'string' || !isRole(value, roles))
          throw RequestError.invalidParams(
            { configId, value },
            `There is no option ${visibleLine(`${configId}: ${value}`)}`,
          );
        const roleId = value === NO_ROLE ? null : value;
        if (thread.hasBegun && roleId !== thread.setting.roleId)
          throw RequestError.invalidParams(
            { configId, value },
            'The role of a conversation cannot change: start a new one',
          );
        thread.setting = { ...thread.setting, roleId };
        return { configOptions: stateOf(session).configOptions };
      }),
    )
    .onRequest(methods.agent.session.prompt, ({ params: { sessionId, prompt } }) =>
      answered(async () => {
        const { thread } = sessionOf(sessionId);
        return { stopReason: await thread.prompt(promptText(prompt)) };
      }),
    )
    .onNotification(methods.agent.session.cancel, async ({ params: { sessionId } }) => {
      // If the hub cannot be reached, the prompt says so.
      await sessions
        .get(sessionId)
        ?.thread.cancel()
        .catch(() => {});
    });

  const web = <T>(stream: T) => stream as unknown;
  const connection = app.connect(
    ndJsonStream(
      web(Writable.toWeb(output as Writable)) as WritableStream<Uint8Array>,
      web(Readable.toWeb(input as Readable)) as ReadableStream<Uint8Array>,
    ),
  );
  await connection.closed;
  // Runs go on without the editor. It finds them again with `session/load`.
  for (const { thread, hub } of sessions.values()) {
    thread.close();
    hub.release();
  }
}

const modesAt = (currentModeId: string): SessionModeState => ({
  currentModeId,
  availableModes: Object.entries(MODES).map(([id, { name, description }]) => ({ id, name, description })),
});

const isRole = (id: string, roles: Session['roles']): boolean =>
  id === NO_ROLE || roles.some(role => role.id === id);

const roleOption = (roleId: string | null, roles: Session['roles']): SessionConfigOption => ({
  ...{ id: ROLE, name: 'Role', description: 'The role of the agent', category: 'role', type: 'select' },
  currentValue: roleId ?? NO_ROLE,
  options: [
    ...roles.map(({ id, name, description }) => ({ value: id, name, description })),
    { value: NO_ROLE, name: 'No role', description: 'An agent with the context of the project only' },
  ],
});

/** Converts Squad's errors to errors of the protocol. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof RequestError) throw thrown;
    const { code, kind, message, suggestions = [] } = asSquadError(thrown).toShape();
    const text = [`${code}: ${message}`, ...suggestions].join('\n');
    throw new RequestError(kind === 'usage' ? INVALID_PARAMS : INTERNAL, text, { code });
  }
}

const INVALID_PARAMS = -32602;
const INTERNAL = -32603;
