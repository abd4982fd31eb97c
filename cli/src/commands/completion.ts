import { defineCommand } from '../frame/command.ts'

export const completionCommand = defineCommand({
  words: 'completion',
  group: 'Run',
  summary: 'Print the completion script of a shell.',
  details:
    'For bash, add this to ~/.bashrc: eval "$(kinora completion bash)". For zsh: eval "$(kinora completion zsh)" in ~/.zshrc, after compinit. For fish: kinora completion fish > ~/.config/fish/completions/kinora.fish.',
  arguments: { shell: { summary: 'bash, zsh or fish', choices: ['bash', 'zsh', 'fish'] } },
  example: 'kinora completion bash',
  run: async ({ shell }, line) => {
    const { completionScript } = await import('../frame/completion.ts')
    process.stdout.write(completionScript(shell, line))
  },
})
