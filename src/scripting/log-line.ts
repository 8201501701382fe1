/** One line a script logged. The level is the contract's word for it: `Information`, `Warning` … */
export interface LogLine {
  readonly level: string;
  readonly message: string;
}
