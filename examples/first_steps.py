import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import obtree
from obtree.export import to_c
from obtree.plot import plot_tree

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)

forest = obtree.ObliqueForestClassifier(random_state=0).fit(X, y)  # trained
tree = obtree.TAOTreeClassifier(max_depth=2, l1=1, random_state=0).fit(X, y)
print("right:", forest.score(X_new, y_new), "by a tree:", tree.score(X_new, y_new))
print(tree.explain_row(X_new.iloc[0], class_names=["malignant", "benign"]))  # explained
plot_tree(tree, class_names=["malignant", "benign"])  # drawn
plt.savefig("tree.png")
obtree.save_model(forest, "forest.obtree")  # saved
with open("tree.c", "w") as file:
    file.write(to_c(tree))  # exported
