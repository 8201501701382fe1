/** Sums of money, as the scripts of this domain reckon with them. A helper: see mappings/money.json. */
export const Money = {
  round: (amount: number): number => Math.round(amount * 100) / 100,

  /** What is paid each month so that the loan is paid back in equal parts. */
  instalment(amount: number, annualRate: number, months: number): number {
    const rate = annualRate / 12;
    const share = rate === 0 ? 1 / months : rate / (1 - (1 + rate) ** -months);
    return Money.round(amount * share);
  },
};
