import type { PullRequest } from '../ports/git-host.ts';
import { forgeAccess } from './git-host-access.ts';
import { runNow } from './ports.ts';
import type { ProposalIntent, ProposalPorts } from './proposals.ts';
import { takeBack } from './propose.ts';

/** Clients wait while a hub starts. */
const PATIENCE_MS = 3_000;

/**
 * What an earlier hub was in the middle of. A pull request that is there is written down; a branch that was not pushed is put
 * back; where the host cannot be asked the branch stays, which costs nothing: whoever asked asks again and gets the same.
 */
export async function recoverProposal(intent: ProposalIntent, ports: ProposalPorts): Promise<void> {
  try {
    const asker = await runNow(ports, intent.runId);
    const found = await askHost(intent, ports);
    if (asker && found.pull)
      await ports.reviews.openedPullRequest(asker, { ...found.pull, branch: intent.tree.branch }, [
        intent.id,
      ]);
    else await takeBack(intent, found.isThere, ports);
  } catch (thrown) {
    ports.warn(`What became of the pull request of ${intent.ofRunId} is not known`, thrown);
    await takeBack(intent, true, ports);
  }
}

async function askHost(
  { runId, ofRunId, tree, move }: ProposalIntent,
  { files, forge, branches }: ProposalPorts,
): Promise<{ isThere: boolean; pull: PullRequest | null }> {
  const access = { ...(await forgeAccess([runId, ofRunId], files)), patienceMs: PATIENCE_MS };
  const repository = await forge.repository(tree.repository, access);
  const tip = await forge.remoteTip(tree, repository, access);
  const isThere = tip !== null && tip === (move?.to ?? (await branches.tip(tree)));
  return { isThere, pull: isThere ? await forge.findPullRequest(repository, tree.branch, access) : null };
}
