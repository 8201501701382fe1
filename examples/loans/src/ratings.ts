import type { Dynamic } from "millrace/script";

/** How the ratings of applicants are kept. A helper: see mappings/ratings.json. */
export const Ratings = {
  keyOf({ applicant }: Dynamic): string {
    const born = applicant.birthYear === undefined ? "" : `:${applicant.birthYear}`;
    return `loans:rating:${applicant.name.toLowerCase()}${born}`;
  },
};
