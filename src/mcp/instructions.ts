/** What a client's model reads before it sees the tools. At most 2 KB: some clients cut there. */
export const INSTRUCTIONS = `Squad runs coding agents as separate processes in this workspace. Use it, not a sub-agent tool of your own, to hand work over.

Which tool:
- One task: spawn_agent (any engine; roleId gives it a role), or spawn_claude / spawn_codex where listed. The project's context is added.
- Several independent tasks: spawn_parallel; aggregate_results sums them up.
- A team by role, each with its own task: start_squad_members. list_roles has the roles.
- Not to wait: async: true, then get_result {spawn_id or squad_id, wait_seconds}.

Where the project has a team: squad_decision_search finds what it has decided (look before you decide anew), squad_status what runs and what today has cost.

An agent sees its prompt, its role and the project's context, not this conversation: say all it needs. Agents started together do not see each other: give them separate files or folders.

If a call returns status "running" or "queued", the agents go on: call get_result until they have ended. "asks": one waits for an answer; put it to the user, give it with answer_question, go on waiting. Ending or losing a call never stops an agent; cancel_run does, with all it started. get_result {spawn_id, stream, offset} pages through output that was cut. list_running shows what runs in this workspace, also for other clients; recent: true also what ended.

permission: read, edit (default: change files and run commands in its folder) or full. "advisory" in a result names limits that nothing but the agent's instructions holds.

Statuses: queued, running, then one end: completed, error, timeout, cancelled, lost. "completed" is the agent's own word. evidence is what Squad saw: verdict "verified" (something really changed), "claimed" (words only), "empty" or "contradicted". Look at the files before you build on it. null means nobody reported it. Reports headed SETUP / ENVIRONMENT ISSUES are for the human: pass them on.`;

/** What an agent at work reads: who it is asks for nothing but its own tools. `ask`: the name of the tool that asks a person. */
export const agentInstructions = (ask: string) =>
  `You are an agent that Squad runs. squad_status says where you stand: your run, the time and budget you have left, and how those you work with are doing. squad_decision_search finds what the team has decided: look before you decide anew. ${ask} puts a question to a person and waits for the answer: use it for what is theirs to decide or cannot be undone, and go on by yourself with the rest. If you have tools to start agents, they see their role and the task you give them, not your conversation, and you see only what you started. Work on your own task; your final answer is your report.`;
