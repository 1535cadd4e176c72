export interface StarterMember {
  id: string;
  role: string;
  charter: string;
}

/** What `squad init` lays down for a team to begin with: short, and in the form Squad reads. */
export const teamStarters = (members: readonly StarterMember[]): [name: string, text: string][] => [
  [
    'team.md',
    `# Team

Who works here. Squad shows this table as \`squad team\` and squad://roster; edit it freely. A name that is also a role can be given work: \`squad run coder "…"\`.

## Members

| Name | Role | Charter | Status |
| --- | --- | --- | --- |
${members.map(({ id, role, charter }) => `| ${id} | ${role} | \`${charter}\` | Active |\n`).join('')}`,
  ],
  [
    'decisions.md',
    `# Decisions

What the team has decided, for people and agents to find: \`squad decisions --search WORDS\`. Each decision is a heading of level three:

    ### 2026-01-31: Dates are ISO 8601
    **By:** Ann
    **What:** Every date in a file or an API is written YYYY-MM-DD.
    **Why:** They sort as text, and nobody mistakes the month for the day.

What agents record comes as files into decisions/inbox/; move into this file what is to stay.
`,
  ],
  [
    'backlog.md',
    `# Backlog

What is to be done: \`squad backlog\` shows it. Headings are states; an item is a box with a title, and may have a priority, an owner and an issue:

    - [ ] Retry failed uploads [P1] @coder (#12)
      Notes are indented under it.

## Next

## Later

## Done
`,
  ],
];
