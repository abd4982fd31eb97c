/** The moving sign in front of a line that is redrawn while something is in progress. */
export const redrawEveryMs = 120

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export const spinnerFrame = (index: number): string => frames[index % frames.length] ?? ''
