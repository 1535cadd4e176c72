import { shellWord } from '../../schema/shell-word.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * What a shell evaluates to complete `squad`. It asks this very program, by its path, for each word: `squad` may be an alias, and
 * there is no second list of commands that could grow old.
 */
export const shellScript = (shell: Shell, program: readonly string[]): string =>
  SCRIPTS[shell](`${program.map(shellWord).join(' ')} complete --`);

const SCRIPTS: Record<Shell, (ask: string) => string> = {
  bash: ask => `_squad_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(${ask} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _squad_complete squad
`,
  zsh: ask => `_squad_complete() {
  local -a found
  local line
  for line in "\${(@f)$(${ask} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done
  if (( $#found )); then _describe squad found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit; compinit; }
compdef _squad_complete squad
`,
  fish: ask => `function __squad_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (${ask} $words[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c squad -f -a '(__squad_complete)'
`,
};
