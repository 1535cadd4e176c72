import type { Tmux } from './tmux.ts';

/**
 * Ends a session. Who came to it from another one goes back there: tmux would put them out altogether, or into whichever
 * session was used last. Who came from outside is outside again.
 */
export async function endSession(tmux: Tmux, name: string): Promise<void> {
  const { stdout } = await tmux.run([
    ...['list-clients', '-t', `=${name}`],
    ...['-F', '#{client_name} #{client_last_session}'],
  ]);
  const clients = stdout
    .toString('utf8')
    .split('\n')
    .map(line => /^(\S+) (.+)$/.exec(line))
    .filter(found => found !== null);
  // Each by itself: tmux leaves the rest undone after one that fails, and a client may leave at any time.
  await Promise.all(
    clients.map(([, client, last]) => tmux.run(['switch-client', '-c', client!, '-t', `=${last}:`])),
  );
  await tmux.run(['kill-session', '-t', `=${name}`]);
}
