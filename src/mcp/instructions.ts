/** What a client's model reads before it sees the tools. At most 2 KB: some clients cut there. */
export const INSTRUCTIONS = `Squad runs coding agents, each in a role, as separate processes in this workspace.

- list_roles: which roles there are.
- start_squad_members: start one or several at once and wait for all of them. Put everything an agent needs into its task: it sees its role and the task, not this conversation. Agents started together do not see each other; give them separate files or folders.
- Some agents take long. If a call returns members with status "running" or "queued", they go on: call get_result {squad_id, wait_seconds} until all have ended. Ending or losing a call never stops an agent.
- get_result {spawn_id, stream, offset} pages through output that was cut.
- list_running shows what is queued or at work, also for other clients: look there for an id you do not have.
- cancel_run stops an agent and everything it started.

Statuses: queued, running, then one end: completed, error, timeout, cancelled, lost. "completed" says that the agent's process or its own end report succeeded, not that the work is right: read the output, and look at the files. Reports headed SETUP / ENVIRONMENT ISSUES are for the human: pass them on.`;
