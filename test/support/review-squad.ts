import { GitSquad, script, scriptOf } from './git-squad.ts';
import { until } from './squad.ts';

/** A coder with a work tree of its own and a reviewer; as many reviews as a test wants, and ends that are quick. */
export class ReviewSquad extends GitSquad {
  constructor(reviewer = 'You review.') {
    super({
      coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
      reviewer: `---\ntype: review\n---\n${reviewer}`,
    });
  }

  async prepare(): Promise<void> {
    await this.unlimited();
    await this.set('stop.grace_ms', '200');
  }

  async startCoder(task: string): Promise<string> {
    return (await this.json<{ runIds: [string] }>(['run', '-d', 'coder', task])).runIds[0];
  }

  /** A coder that waits for a reviewer who says nothing; `heard`: what it does when it goes on. */
  async inReview(...heard: string[]): Promise<{ id: string; reviewerId: string }> {
    const id = await this.startCoder(
      `Build it.${script('write a.txt', '| a', ASK)}${scriptOf(2, ...heard, 'report Heard.')}`,
    );
    await until('it waits', async () => (await this.statusOf(id)) === 'waiting_review');
    const { reviews } = await this.json<{ reviews: [{ reviewerId: string }] }>(['review', id]);
    const { reviewerId } = reviews[0];
    await until('its reviewer is running', async () => (await this.statusOf(reviewerId)) === 'running');
    return { id, reviewerId };
  }
}

/** Asks for a review by somebody who never comes to an end. */
export const ASK = `call request_review ${JSON.stringify({ reviewer_prompt: script('hang') })}`;
