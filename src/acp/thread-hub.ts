import { HubClient, HubGone, ReconnectLimit } from '../cli/hub-client.ts';
import { follow } from '../cli/runs/follow.ts';
import type { Handshake } from '../link/handshake.ts';
import type { Input, OperationName, Output } from '../operations/operations.ts';
import type { Event } from '../schema/event.ts';

/**
 * The hub, as one workspace of the editor sees it. If the hub stops or is killed, a call is repeated at the next one, so
 * only calls are made here that may be repeated.
 */
export class ThreadHub {
  private readonly hello: Partial<Handshake>;
  private client: Promise<HubClient> | null = null;

  constructor(workspace: string, client: string | null) {
    this.hello = { workspace, ...(client !== null && { client }) };
  }

  async call<N extends OperationName>(operation: N, input: Input<N>): Promise<Output<N>> {
    for (const limit = new ReconnectLimit(); ; ) {
      this.client ??= HubClient.start(this.hello);
      const { client } = this;
      const drop = () => {
        if (this.client === client) this.release();
      };
      const connected = await client.catch(thrown => {
        drop();
        throw thrown;
      });
      try {
        limit.connected();
        return await connected.call(operation, ...([input] as unknown as never));
      } catch (thrown) {
        if (!(thrown instanceof HubGone)) throw thrown;
        drop();
        await limit.lost();
      }
    }
  }

  /** Calls `onEvent` with each event of the workspace after `after`, across restarts of the hub. */
  async follow(
    { workspace, after, signal }: { workspace: string; after: number; signal: AbortSignal },
    onEvent: (event: Event) => void,
  ): Promise<void> {
    const client = await HubClient.start(this.hello);
    try {
      await follow(client, {
        ...{ workspace, after, signal, reconnect: () => HubClient.start(this.hello) },
        onEvent(event) {
          onEvent(event);
          return false;
        },
      });
    } finally {
      client.close();
    }
  }

  /** Disconnects, so that an idle editor does not keep the hub. The next call connects again. */
  release(): void {
    void this.client?.then(client => client.close()).catch(() => {});
    this.client = null;
  }
}
