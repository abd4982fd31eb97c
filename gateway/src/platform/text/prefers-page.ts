/** Whether a client prefers HTML, as browsers do. Other clients get JSON. */
export const prefersPage = (accept: string | undefined): boolean => {
  const [first = ''] = (accept ?? '').split(',')
  return first.trim().startsWith('text/html')
}
